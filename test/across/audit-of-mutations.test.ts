import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type AuditWorld, auditRows } from '../support/fixtures/audit-log.ts';
import { mutationCases, startMutationWorld } from '../support/fixtures/mutation-cases.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/** Every mutation, one after the other in one workspace: each leaves exactly one entry, which says who, what and when. */

let w: AuditWorld;
beforeAll(async () => {
  w = await startMutationWorld();
});
afterAll(() => w.stop());

const CASES = mutationCases(() => w);

test('every mutation has its case here', () => {
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(caseFaults('test/support/fixtures/mutation-cases.ts', Object.keys(CASES), names)).toBe('');
});

test.each(Object.entries(CASES))('%s leaves exactly one entry', async (name, write) => {
  const { added, expected } = await w.record(name, write);
  expect(added).toEqual([expected]);
});

test('occurrences of several definitions in one call have no one target', async () => {
  for (const label of ['One', 'Two']) await w.mutate('createEventDefinition', { label, primaryObject: 'NO_OBJECT' });
  const before = await auditRows(w.gateway);
  await w.mutate('sendEventOccurrences', {
    inputs: ['one', 'two'].map((eventName) => ({ eventName, properties: {} })),
  });
  expect((await auditRows(w.gateway)).slice(before.length)).toMatchObject([
    { targetType: 'EventDefinition', targetId: null },
  ]);
});

test('what is sent again is not done again: neither an idempotent request nor a batch leaves another', async () => {
  const { gateway, admin } = w;
  const sessionId = await createSession(gateway, admin.key);
  const before = await auditRows(gateway);
  for (let time = 0; time < 2; time += 1) {
    const headers = { 'Idempotency-Key': 'once' };
    await gateway.rest('POST', '/v1/organizations', { key: admin.key, headers, body: { name: 'Once' } });
    await append(gateway, admin.key, sessionId, eventsOf(2), 'batch');
  }
  const operations = (await auditRows(gateway)).slice(before.length).map(({ operation }) => operation);
  expect(operations).toEqual(['createOrganization', 'appendSessionEvents']);
});

test('entries hold no input and no secret', async () => {
  const text = JSON.stringify(await auditRows(w.gateway));
  for (const word of ['Renamed', 'example.com', 'order_paid', w.admin.key, w.server.origin])
    expect(text).not.toContain(word);
});
