import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { beforeAll, expect, test, vi } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { proof } from '../support/proof.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';
import { SCHEMA, appFile, generatedFolder, typeErrors } from './helpers/apps.ts';
import { copyClientExamples } from './helpers/client-examples.ts';

interface Pages<Row> {
  rows(): Row[];
  connectionId(): string;
  totalCount(): number;
  hasNext(): boolean;
  hasPrevious(): boolean;
  loadNext(count: number): Promise<void>;
  loadPrevious(count: number): Promise<void>;
}

/** `apps/relay/app.ts`. Its types are compiled in the first test. */
interface App {
  openList(
    first: number,
  ): Promise<Pages<{ id: string; title: string; state: { current: string } }> & { email: string; count: number }>;
  create(title: string, connectionId: string): Promise<unknown>;
  rename(sessionId: string, title: string): Promise<unknown>;
  refetchRow(id: string): Promise<void>;
  showAgain(first: number, id: string, window: { first: number }): Promise<unknown[]>;
  openPage(id: string, window: { first: number; after?: string }): Promise<Pages<{ databaseId: number }>>;
  follow(sessionId: string, after: string, connectionId: string): Promise<void>;
}

type OnEntries = (entries: readonly { readonly __typename: string; readonly isOpen: boolean }[]) => void;

/** `relay-environment.ts` and `relay-entries.ts` of docs/clients.md. */
interface Client {
  readonly createRelayEnvironment: (url: string, key: string) => object;
  readonly followEntries: (environment: object, id: string, onEntries: OnEntries) => Promise<void>;
}

const require = createRequire(import.meta.url);
const gateway = await startServedGateway();
let key: string;
let email: string;
let app: App;
let appOverSocket: App;
let follow: (id: string, onEntries: OnEntries) => Promise<void>;
let compiled: number;

beforeAll(async () => {
  ({ key, email } = await gateway.createKey());

  await generatedFolder('relay');
  const clients = await copyClientExamples('relay-clients');
  await mkdir(`${clients}/__generated__`);
  const config: object = JSON.parse(await readFile(appFile('relay/relay.config.json'), 'utf8'));
  await writeFile(`${clients}/relay.config.json`, JSON.stringify({ ...config, artifactDirectory: '__generated__' }));
  const compile = async (cwd: string) => {
    const compiler = require('relay-compiler') as string;
    const { stdout } = await promisify(execFile)(compiler, ['--noWatchman', 'relay.config.json'], { cwd });
    return Number(/(\d+) operation text/.exec(stdout)?.[1]);
  };
  compiled = (await compile(appFile('relay'))) + (await compile(clients));
  // What the plugin of Relay for Babel does.
  const example = await readFile(`${clients}/relay-entries.ts`, 'utf8');
  const artifact = "import subscription from './__generated__/relayEntriesSubscription.graphql.ts'";
  await writeFile(`${clients}/entries.ts`, example.replace(/const subscription = graphql`[^`]*`/, artifact));
  const url = `${gateway.url}/graphql`;
  const { createRelayEnvironment } = (await import(`${clients}/relay-environment.ts`)) as Client;
  const { followEntries } = (await import(`${clients}/entries.ts`)) as Client;
  follow = (id, onEntries) => followEntries(createRelayEnvironment(url, key), id, onEntries);
  const path = appFile('relay/app.ts');
  const { createApp } = (await import(path)) as {
    createApp: (url: string, key: string, options?: { overWebSocket: boolean }) => App;
  };
  app = createApp(url, key);
  appOverSocket = createApp(url, key, { overWebSocket: true });
});

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const globalId = (id: string) => Buffer.from(`Session:${id}`).toString('base64');
const numbers = (page: Pages<{ databaseId: number }>) => page.rows().map(({ databaseId }) => databaseId);

test('the Relay compiler accepts the app, TypeScript accepts the compiled types, and the linter accepts the schema', async () => {
  expect(compiled).toBeGreaterThan(0);
  expect(await typeErrors('relay/app.ts', '../generated/relay-clients/relay-entries.ts')).toEqual([]);

  const { runner } = require('graphql-schema-linter') as {
    runner: {
      run(
        stdout: { write(text: string): void },
        stdin: null,
        stderr: { write(text: string): void },
        argv: string[],
      ): Promise<number>;
    };
  };
  let report = '';
  const output = { write: (text: string) => (report += text) };
  const rules = 'relay-connection-types-spec,relay-connection-arguments-spec,relay-page-info-spec';
  const argv = ['node', 'linter', '--format', 'json', '--rules', rules, SCHEMA];
  expect([await runner.run(output, null, output, argv), JSON.parse(report)]).toEqual([0, { errors: [] }]);
});

test('a loaded part of a list grows forward and backward without gaps or duplicates', async () => {
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(20));
  const page = await app.openPage(globalId(id), { first: 4, after: '8' });
  expect([numbers(page), page.hasPrevious(), page.hasNext()]).toEqual([range(9, 12), true, true]);
  await page.loadNext(5);
  await page.loadPrevious(5);
  expect([numbers(page), page.hasPrevious(), page.hasNext()]).toEqual([range(4, 17), true, true]);
  await page.loadPrevious(3);
  await page.loadNext(3);
  expect([numbers(page), page.hasPrevious(), page.hasNext()]).toEqual([range(1, 20), false, false]);
});

test('shows what people read of a running session, as it changes', async () => {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  const call = { itemId: 'call', toolName: 'Bash' };
  const said = { source: 'user', accumulatedText: 'Go' };
  await append(gateway, key, id, [...eventsOf(1, { data: said }), ...eventsOf(1, { data: call })]);
  const shown: string[][] = [];
  const ended = follow(id, (entries) =>
    shown.push(entries.map(({ __typename: type, isOpen }) => `${type} ${isOpen ? 'open' : 'ended'}`)),
  );
  await expect.poll(() => shown.length).toBe(1);
  expect(shown).toEqual([['UserMessage ended', 'ToolCall open']]);
  await append(gateway, key, id, eventsOf(1, { data: { ...call, toolResult: { status: 'completed' } } }));
  await moveTo(gateway, key, id, 'COMPLETED');
  await ended;
  expect(shown.at(-1)).toEqual(['UserMessage ended', 'ToolCall ended']);
});

test('two screens send two requests, and none to be shown again', async () => {
  const requests = vi.spyOn(globalThis, 'fetch');
  const id = globalId(await createSession(gateway, key, { title: 'shown' }));
  await app.openList(2);
  await app.openPage(id, { first: 3 });
  expect(requests).toHaveBeenCalledTimes(2);
  expect(await app.showAgain(2, id, { first: 3 })).toEqual([email, 'Session']);
  expect(requests).toHaveBeenCalledTimes(2);
  requests.mockRestore();
});

test('a created row is added to a connection, and its global id changes it everywhere and reads it again', async () => {
  for (const title of ['relay 1', 'relay 2', 'relay 3']) await createSession(gateway, key, { title });
  const list = await app.openList(2);
  expect(list.count).toBeGreaterThanOrEqual(3);
  const titles = () => list.rows().map(({ title }) => title);
  expect([list.email, titles(), list.totalCount(), list.hasNext()]).toEqual([email, ['relay 1', 'relay 2'], 3, true]);
  await list.loadNext(2);
  expect([titles(), list.hasNext()]).toEqual([['relay 1', 'relay 2', 'relay 3'], false]);

  expect(await app.create('relay 4', list.connectionId())).toMatchObject({
    createSession: { __typename: 'CreateSessionPayload' },
  });
  const created = list.rows().at(-1);
  expect(created).toMatchObject({ title: 'relay 4', state: { current: 'QUEUED' } });

  await app.rename(created?.id ?? '', 'relay four');
  expect(titles()).toEqual(['relay 1', 'relay 2', 'relay 3', 'relay four']);
  expect(await app.rename(created?.id ?? '', '')).toEqual({
    updateSession: expect.objectContaining({ __typename: 'ValidationError', path: ['title'] }),
  });

  // Another client changes it. The app shows the change after it reads only that row again.
  await moveTo(gateway, key, created?.id ?? '', 'IN_PROGRESS');
  expect(list.rows().at(-1)?.state.current).toBe('QUEUED');
  await app.refetchRow(created?.id ?? '');
  expect(list.rows().at(-1)).toEqual({ id: created?.id, title: 'relay four', state: { current: 'IN_PROGRESS' } });
});

test.each(['SSE', 'WebSocket'])(
  'over %s, a subscription appends new events to the list until the session is finished',
  async (transport) => {
    const used = transport === 'SSE' ? app : appOverSocket;
    const id = await createSession(gateway, key);
    await append(gateway, key, id, eventsOf(3));
    const page = await used.openPage(globalId(id), { first: 10 });
    const finished = used.follow(globalId(id), '3', page.connectionId());
    for (let from = 4; from <= 40; from += 4) await append(gateway, key, id, eventsOf(4, { from }));
    await expect.poll(() => numbers(page)).toEqual(range(1, 43));
    await moveTo(gateway, key, id, 'CANCELLED');
    await finished;
    expect(numbers(page)).toEqual(range(1, 43));
    if (transport === 'SSE') return;
    const audit = { 'documents compiled': compiled, 'type errors': 0, 'findings of the three Relay rules': 0 };
    proof('Relay', {
      figures: { ...audit, 'rows paged both ways': 20, 'events followed, over SSE and over WebSocket': 40 },
    });
  },
);
