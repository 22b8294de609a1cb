import { type GraphQLArgument, isInputObjectType, isNonNullType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { createSession, mutate } from '../support/fixtures/sessions.ts';
import { createWebhook } from '../support/fixtures/webhooks.ts';

/** Optimistic concurrency: an update whose `expectedUpdatedAt` differs from the stored `updatedAt` is a conflict and writes nothing. */

let gateway: TestGateway;
let key: string;
let organizationId: string;
let userId: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key, organizationId, userId } = await gateway.createKey());
});
afterAll(() => gateway.close());

interface Case {
  /** Creates an object. Returns its global id, and an input that changes it. */
  readonly make: () => Promise<{ id: string; input: object }>;
  readonly type: string;
}

const session = async () => createSession(gateway, key);
async function definition(): Promise<string> {
  const label = `Event ${Math.random()}`;
  const made = await mutate<{ eventDefinition: { name: string } }>(
    gateway,
    key,
    'createEventDefinition',
    { label, propertyDefinitions: [{ label: 'Plan', name: 'plan', type: 'STRING' }] },
    'eventDefinition { name }',
  );
  return made.eventDefinition.name;
}
async function idOf(eventName: string): Promise<string> {
  const { data } = await gateway.graphql<{ eventDefinition: { databaseId: string } }>(
    key,
    'query($name: String!) { eventDefinition(name: $name) { databaseId } }',
    { name: eventName },
  );
  return data?.eventDefinition.databaseId ?? '';
}
const ofProperty = (change: object): Case => ({
  type: 'EventProperty',
  make: async () => {
    const eventName = await definition();
    return { id: btoa(`EventProperty:${await idOf(eventName)}:plan`), input: { eventName, name: 'plan', ...change } };
  },
});
const ofSession = (change: object): Case => ({
  type: 'Session',
  make: async () => {
    const sessionId = await session();
    return { id: btoa(`Session:${sessionId}`), input: { sessionId, ...change } };
  },
});
const ofMcpServer = (change: object): Case => ({
  type: 'McpServer',
  make: async () => {
    const name = `server ${Math.random()}`;
    const made = await mutate<{ mcpServer: { id: string } }>(
      gateway,
      key,
      'createMcpServer',
      { stdio: { name, command: 'true' } },
      'mcpServer { id }',
    );
    return { id: made.mcpServer.id, input: { mcpServerId: made.mcpServer.id, ...change } };
  },
});

const CASES: Readonly<Record<string, Case>> = {
  updateSession: ofSession({ title: 'Changed' }),
  pinSession: ofSession({ isPinned: true }),
  updateViewer: {
    type: 'User',
    make: async () => ({ id: btoa(`User:${userId}`), input: { name: 'Changed' } }),
  },
  updateMcpServer: ofMcpServer({ command: 'false' }),
  updateMcpServerSettings: ofMcpServer({ recordToolCalls: 'NONE' }),
  updateWebhook: {
    type: 'Webhook',
    make: async () => {
      const { id } = await createWebhook(gateway, key, 'https://example.com/hooks');
      return { id: btoa(`Webhook:${id}`), input: { webhookId: id, isEnabled: false } };
    },
  },
  updateOrganization: {
    type: 'Organization',
    make: async () => ({ id: btoa(`Organization:${organizationId}`), input: { organizationId, name: 'Changed' } }),
  },
  updateEventDefinition: {
    type: 'EventDefinition',
    make: async () => {
      const eventName = await definition();
      return { id: btoa(`EventDefinition:${await idOf(eventName)}`), input: { eventName, label: 'Changed' } };
    },
  },
  updateEventProperty: ofProperty({ label: 'Changed' }),
  replaceEventPropertyType: ofProperty({ type: 'NUMBER' }),
};

function takesExpected({ type }: GraphQLArgument): boolean {
  const input = isNonNullType(type) ? type.ofType : type;
  return isInputObjectType(input) && input.getFields()['expectedUpdatedAt'] !== undefined;
}

test('every update accepts expectedUpdatedAt, and every mutation that accepts it has a case here', () => {
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const updates = mutations.filter(({ name }) => /^(?:update|replace)/.test(name));
  const taking = mutations.filter(({ args }) => args.some(takesExpected)).map(({ name }) => name);
  expect(taking).toEqual(expect.arrayContaining(updates.map(({ name }) => name)));
  expect(caseFaults('CASES in test/across/expected-updated-at.test.ts', Object.keys(CASES), taking)).toBe('');
});

test.each(Object.entries(CASES))('%s', async (name, { type, make }) => {
  const { id, input } = await make();
  const read = async () => {
    const { data } = await gateway.graphql<{ node: Record<string, unknown> & { updatedAt: string } }>(
      key,
      `query($id: ID!) { node(id: $id) { ... on ${type} { updatedAt ${type === 'Session' ? 'title isPinned' : type === 'McpServer' ? 'command recordToolCalls' : type === 'EventProperty' ? 'label type' : type === 'Webhook' ? 'isEnabled' : ['Organization', 'User'].includes(type) ? 'name' : 'label'} } } }`,
      { id },
    );
    return data?.node;
  };
  const before = await read();
  const at = Date.parse(before?.updatedAt ?? '');
  gateway.setClock(new Date(at + 1000));
  const earlier = new Date(at - 1).toISOString();
  for (const expectedUpdatedAt of [earlier, new Date(at + 1).toISOString()]) {
    const refused = await mutate<{ reason?: string }>(gateway, key, name, { ...input, expectedUpdatedAt });
    expect(refused).toMatchObject({ __typename: 'ConflictError', path: ['expectedUpdatedAt'] });
  }
  expect(await read()).toEqual(before);
  const expectedUpdatedAt = before?.updatedAt;
  const payload = `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`;
  expect((await mutate(gateway, key, name, { ...input, expectedUpdatedAt })).__typename).toBe(payload);
  expect(await read()).not.toEqual(before);
  // If two clients have read the same version, the second update is refused.
  expect((await mutate(gateway, key, name, { ...input, expectedUpdatedAt })).__typename).toBe('ConflictError');
  gateway.setClock(undefined);
});
