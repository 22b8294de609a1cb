import { beforeAll, expect, test } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { proof } from '../support/proof.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';
import { appFile, generatedFolder, typeErrors } from './helpers/apps.ts';
import { generateTypes } from './helpers/codegen.ts';

/** The clients in `apps/graphql/`. Their types are generated here. */
interface App {
  scenario: (client: unknown, word: string, sessionId: string) => Promise<{ ids: string[]; topLevel: string }>;
  clients: Record<string, (url: string, headers: object, possibleTypes: Record<string, string[]>) => unknown>;
}

const gateway = await startServedGateway();
let app: App;
const passed = new Set<string>();

beforeAll(async () => {
  const folder = await generatedFolder('graphql');
  const operations = appFile('graphql/scenario.graphql');
  await generateTypes(`${folder}/schema.ts`, operations, ['typescript']);
  await generateTypes(`${folder}/scenario.ts`, operations, ['typescript-operations', 'typed-document-node']);
  const [scenario, clients] = [appFile('graphql/scenario.ts'), appFile('graphql/clients.ts')];
  app = { ...((await import(scenario)) as App), ...((await import(clients)) as App) };
});

test('types and documents are generated from the schema, fit the app, and refuse wrong uses', async () => {
  expect(await typeErrors('graphql/clients.ts', '../generated/graphql/schema.ts')).toEqual([]);
  passed.add('generated types');
});

test.each(['@urql/core', '@apollo/client', 'graphql-request', 'graphql-sse', 'graphql-ws'])(
  '%s creates, reads, pages, reports errors, and follows',
  async (name) => {
    const { key } = await gateway.createKey();
    const sessionId = await createSession(gateway, key);
    await append(gateway, key, sessionId, eventsOf(5));
    await moveTo(gateway, key, sessionId, 'CANCELLED');
    const { data } = await gateway.graphql<{
      __schema: { types: { name: string; possibleTypes: { name: string }[] | null }[] };
    }>(key, '{ __schema { types { name possibleTypes { name } } } }');
    const abstract = (data?.__schema.types ?? []).flatMap(({ name: type, possibleTypes }) =>
      possibleTypes ? [[type, possibleTypes.map((possible) => possible.name)] as const] : [],
    );
    const client = app.clients[name]?.(
      `${gateway.url}/graphql`,
      { Authorization: `Bearer ${key}` },
      Object.fromEntries(abstract.map(([type, names]) => [type, [...names]])),
    );
    const { ids, topLevel, ...rest } = await app.scenario(client, 'Parcel', sessionId);
    expect(new Set(ids).size).toBe(5);
    expect(topLevel).toContain('first: must be from 1 to 100');
    expect(rest).toEqual({
      read: 'Parcel 3',
      total: 5,
      pages: [['Parcel 1', 'Parcel 2'], ['Parcel 3', 'Parcel 4'], ['Parcel 5']],
      taken: expect.objectContaining({ __typename: 'ConflictError', code: 'CONFLICT' }),
      wrong: expect.objectContaining({ __typename: 'ValidationError', path: ['label'] }),
      followed: name === 'graphql-request' ? undefined : [1, 2, 3, 4, 5],
    });
    passed.add(name);
  },
);

test('figures', () => {
  expect(passed.size).toBe(6);
  proof('GraphQL clients', {
    figures: Object.fromEntries([...passed].map((name) => [name, 'passed'])),
    shortfalls: ['graphql-request has no subscriptions: its scenario ends before them.'],
  });
});
