import { readFile } from 'node:fs/promises';
import { buildSchema, introspectionFromSchema } from 'graphql';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { createSession, moveTo, mutate } from '../support/fixtures/sessions.ts';
import { SCHEMA, appFile, generatedFolder, typeErrors } from './helpers/apps.ts';
import { copyClientExamples } from './helpers/client-examples.ts';
import { generateTypes } from './helpers/codegen.ts';

/** `apps/urql/app.ts`: a board of sessions with a normalized cache. Its types are generated here. */
interface Person {
  readonly id: string;
  readonly name: string | null;
}
interface Board {
  readonly viewer: {
    readonly user: Person;
    readonly organization: {
      readonly sessions: {
        readonly nodes: readonly { id: string; title: string; state: { current: string }; creator: Person | null }[];
      };
      readonly members: { readonly nodes: readonly { user: Person }[] };
    };
  };
}
interface App {
  board(): Board;
  openBoard(): Promise<void>;
  openDetail(id: string): Promise<{ title?: string; request: boolean }>;
  find(id: string): Promise<string | undefined>;
  rename(sessionId: string, title: string): Promise<string | undefined>;
  renameMe(name: string): Promise<string | undefined>;
  follow(onChange: () => void): () => void;
  close(): void;
}

const gateway = await startServedGateway();
let introspection: object;
let createApp: (options: { url: string; key: string; schema: object; onRequest: (body: string) => void }) => App;
const apps: App[] = [];

beforeAll(async () => {
  introspection = introspectionFromSchema(buildSchema(await readFile(SCHEMA, 'utf8')));
  await copyClientExamples('urql-clients');
  const file = `${await generatedFolder('urql')}/board.ts`;
  await generateTypes(file, appFile('urql/board.graphql'), ['typescript-operations', 'typed-document-node']);
  ({ createApp } = (await import(appFile('urql/app.ts'))) as { createApp: typeof createApp });
});
afterEach(() => apps.splice(0).forEach((app) => app.close()));

async function start() {
  const { key } = await gateway.createKey();
  const ids = [
    await createSession(gateway, key, { title: 'One' }),
    await createSession(gateway, key, { title: 'Two' }),
  ];
  const requests: string[] = [];
  const onRequest = (body: string) => void requests.push(body);
  const app = createApp({ url: `${gateway.url}/graphql`, key, schema: introspection, onRequest });
  apps.push(app);
  await app.openBoard();
  const titles = () => app.board().viewer.organization.sessions.nodes.map(({ title }) => title);
  const globalIds = ids.map((id) => btoa(`Session:${id}`));
  return { key, app, requests, ids, globalIds, titles };
}

test('types and documents are generated from the schema, and fit the app', async () => {
  expect(await typeErrors('urql/app.ts')).toEqual([]);
});

test('an object of two queries is one cache entry: both show a change without another request', async () => {
  const { app, requests, globalIds, titles } = await start();
  const [one = ''] = globalIds;
  expect(titles()).toEqual(['Two', 'One']);
  expect(await app.openDetail(one)).toEqual({ title: 'One', request: true });
  expect(await app.find(one)).toBe('One');
  const before = requests.length;
  expect(await app.rename(one, 'Renamed')).toBe('UpdateSessionPayload');
  expect(titles()).toEqual(['Two', 'Renamed']);
  expect(await app.openDetail(one)).toEqual({ title: 'Renamed', request: false });
  expect(await app.find(one)).toBe('Renamed');
  // Only the mutation was sent.
  expect(requests.length - before).toBe(1);
  // A user is also one entry: as the viewer, the creator of sessions, and the user of a member.
  expect(await app.renameMe('Ann')).toBe('UpdateViewerPayload');
  const { user, organization } = app.board().viewer;
  const everywhere = [
    user,
    ...organization.sessions.nodes.map(({ creator }) => creator),
    ...organization.members.nodes.map((member) => member.user),
  ];
  expect(everywhere.map((person) => person?.name)).toEqual(['Ann', 'Ann', 'Ann', 'Ann']);
  expect(requests.length - before).toBe(2);
});

test('sessionChange keeps the list current: it shows changed and new sessions without another query', async () => {
  const { key, app, requests, ids, titles } = await start();
  let changes = 0;
  app.follow(() => (changes += 1));
  // After the first change arrives, the subscription is active.
  const change = async () => {
    await mutate(gateway, key, 'updateSession', { sessionId: ids[0], title: `Followed ${changes}` });
    return changes;
  };
  await expect.poll(change).toBeGreaterThan(0);
  const before = requests.length;
  await mutate(gateway, key, 'updateSession', { sessionId: ids[1], title: 'Changed elsewhere' });
  await expect.poll(titles).toContain('Changed elsewhere');
  const created = await createSession(gateway, key, { title: 'New elsewhere' });
  await expect.poll(() => titles()[0]).toBe('New elsewhere');
  await moveTo(gateway, key, created, 'IN_PROGRESS');
  await expect.poll(() => app.board().viewer.organization.sessions.nodes[0]?.state.current).toBe('IN_PROGRESS');
  expect(titles()).toHaveLength(3);
  expect(requests.length - before).toBe(0);
});
