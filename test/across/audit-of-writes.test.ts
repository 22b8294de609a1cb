import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isKeyless } from '../../src/core/http/route.ts';
import { auditRows } from '../support/fixtures/audit-log.ts';
import { visit } from '../support/fixtures/mcp-connections.ts';
import { append, createSession, eventsOf, mutate as runMutation } from '../support/fixtures/sessions.ts';
import { MUTATION_CASES, ROUTE_CASES, missingCases, targetOf } from '../support/operations/cases.ts';
import type { Answer } from '../support/operations/created-id.ts';
import type { Recorded } from '../support/operations/recorded-organization.ts';
import {
  type WriteWorkspace,
  callerOf,
  mutate,
  request,
  startWriteWorkspace,
} from '../support/operations/write-workspace.ts';
import { startOAuthFixture } from '../support/peers/mcp-authorization-server.ts';
import { sampled } from '../support/sample.ts';

/** Each mutation, and each route that writes, writes exactly one audit log entry, with actor, operation, target and time. */

const WRITTEN_AT = new Date('2026-03-01T10:20:30.500Z');

let workspace: WriteWorkspace;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
});
afterAll(() => workspace.stop());

/** What was added to the audit log meanwhile, at {@link WRITTEN_AT}. */
async function entriesOf<Result>(run: () => Promise<Result>) {
  const { gateway } = workspace;
  gateway.setClock(WRITTEN_AT);
  const before = await auditRows(gateway);
  const result = await run();
  const added = (await auditRows(gateway)).slice(before.length);
  gateway.setClock(undefined);
  return { result, added };
}

interface Sent {
  readonly answer: Answer;
  /** The key that the entry names, if it is not that of the caller. */
  readonly keyId?: string;
}
type Send = (to: Recorded, requestId: string) => Promise<Sent>;

const ofMutations = MUTATION_CASES.map(([name, write]) => {
  const send: Send = async (to, id) => ({ answer: await mutate(workspace.gateway, [name, write], to, id) });
  return [`mutation ${name}`, name, { write, send }] as const;
});
const ofRoutes = ROUTE_CASES.map(([name, write, route]) => {
  const send: Send = async (to, id) => {
    const answer = await request(workspace.gateway, [write, route], to, id);
    // Who accepts an invitation without a key gets their first one.
    return { answer, ...(isKeyless(route) && { keyId: (answer['apiKey'] as { id: string }).id }) };
  };
  return [`route ${name}`, name, { write, send }] as const;
});

test('every mutation and every route that writes has a case', () => {
  expect(missingCases()).toBe('');
});

sampled(test, 20).each([...ofMutations, ...ofRoutes])(
  '%s writes exactly one entry',
  async (_, name, { write, send }) => {
    const to = await workspace.objectsFor(name, write);
    const requestId = randomUUID();
    const { result, added } = await entriesOf(() => send(to, requestId));
    const { answer, keyId = callerOf(write, to).keyId } = result;
    const { organizationId = () => callerOf(write, to).organizationId } = write;
    // The first key of a person, who accepts an invitation without one, has an entry of its own.
    const [own, ofKey] = [
      added.filter((each) => each.targetId !== keyId),
      added.filter((each) => each.targetId === keyId),
    ];
    expect(ofKey.map(({ operation }) => operation)).toEqual(answer['apiKey'] && !write.creates ? ['createApiKey'] : []);
    expect(own).toEqual([
      {
        occurredAt: WRITTEN_AT.toISOString(),
        source: 'request',
        keyId,
        organizationId: organizationId?.(to, answer) ?? null,
        requestId,
        operation: write.operation ?? name,
        ...(await targetOf(write, to, [answer, workspace.gateway])),
      },
    ]);
  },
);

test('the first read of the channels creates one and writes an entry; later reads write none', async () => {
  const { key, keyId } = await workspace.gateway.createKey();
  const read = () =>
    workspace.gateway.rest<{ channelGuid: string }[]>('GET', '/broadcast/v1/channels/setting/publish/current', { key });
  const { result, added } = await entriesOf(async () => [await read(), await read()]);
  const targetId = result[0]?.body[0]?.channelGuid;
  expect(added).toMatchObject([{ operation: 'addBroadcastChannel', targetType: 'BroadcastChannel', targetId, keyId }]);
});

test('the entry for a completed authorization names the user who started it', async () => {
  const oauth = await startOAuthFixture();
  const { key, keyId, organizationId } = await workspace.gateway.createKey();
  const body = { name: 'other', serverUrl: oauth.serverUrl };
  const created = await workspace.gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key,
    body,
  });
  const { id: targetId } = created.body.connection;
  const started = await workspace.gateway.rest<{ authorizationUrl: string }>(
    'POST',
    `/v1/mcp-connections/${targetId}/authorize`,
    { key, body: {} },
  );
  const fetch: typeof workspace.gateway.fetch = (target, init) =>
    workspace.gateway.fetch(target, { ...init, headers: { 'X-Request-Id': 'callback' } });
  const { result, added } = await entriesOf(() => visit({ fetch }, oauth.consent(started.body.authorizationUrl)));
  expect(result.status).toBe(200);
  expect(added).toMatchObject([
    { operation: 'completeMcpAuthorization', targetId, keyId, organizationId, requestId: 'callback' },
  ]);
  await oauth.stop();
});

test('the entry for occurrences of several definitions in one call has no target id', async () => {
  const { key } = workspace.kept.callers.admin;
  for (const label of ['One', 'Two'])
    await runMutation(workspace.gateway, key, 'createEventDefinition', { label, primaryObject: 'NO_OBJECT' });
  const inputs = ['one', 'two'].map((eventName) => ({ eventName, properties: {} }));
  const { added } = await entriesOf(() => runMutation(workspace.gateway, key, 'sendEventOccurrences', { inputs }));
  expect(added).toMatchObject([{ targetType: 'EventDefinition', targetId: null }]);
});

test('a repeated idempotent request and a repeated batch write no second entry', async () => {
  const { gateway } = workspace;
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  const { added } = await entriesOf(async () => {
    for (let time = 0; time < 2; time += 1) {
      const headers = { 'Idempotency-Key': 'once' };
      await gateway.rest('POST', '/v1/organizations', { key, headers, body: { name: 'Once' } });
      await append(gateway, key, sessionId, eventsOf(2), 'batch');
    }
  });
  expect(added.map(({ operation }) => operation)).toEqual(['createOrganization', 'appendSessionEvents']);
});

test('entries contain no input and no secret', async () => {
  const { kept, server, gateway } = workspace;
  const text = JSON.stringify(await auditRows(gateway));
  for (const word of ['Renamed', 'example.com', kept.eventNames[0], kept.callers.admin.key, server.origin])
    expect(text).not.toContain(word);
});
