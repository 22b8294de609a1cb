import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { caseFaults } from '../support/completeness.ts';
import { type AuditWorkspace, auditRows } from '../support/fixtures/audit-log.ts';
import { mutationCases, startMutationWorkspace } from '../support/fixtures/mutation-cases.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/**
 * Runs every mutation in one workspace, one after the other. Each writes exactly one audit log entry, with actor,
 * operation, target and time.
 */

let workspace: AuditWorkspace;
beforeAll(async () => {
  workspace = await startMutationWorkspace();
});
afterAll(() => workspace.stop());

const CASES = mutationCases(() => workspace);

test('every mutation has a case here', () => {
  const names = Object.keys(schema.getMutationType()?.getFields() ?? {});
  expect(caseFaults('test/support/fixtures/mutation-cases.ts', Object.keys(CASES), names)).toBe('');
});

test.each(Object.entries(CASES))('%s writes exactly one entry', async (name, write) => {
  const { added, expected } = await workspace.perform(name, write);
  expect(added).toEqual([expected]);
});

test('the entry for occurrences of several definitions in one call has no target id', async () => {
  for (const label of ['One', 'Two'])
    await workspace.mutate('createEventDefinition', { label, primaryObject: 'NO_OBJECT' });
  const before = await auditRows(workspace.gateway);
  await workspace.mutate('sendEventOccurrences', {
    inputs: ['one', 'two'].map((eventName) => ({ eventName, properties: {} })),
  });
  expect((await auditRows(workspace.gateway)).slice(before.length)).toMatchObject([
    { targetType: 'EventDefinition', targetId: null },
  ]);
});

test('a repeated idempotent request and a repeated batch write no second entry', async () => {
  const { gateway, admin } = workspace;
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

test('entries contain no input and no secret', async () => {
  const text = JSON.stringify(await auditRows(workspace.gateway));
  for (const word of ['Renamed', 'example.com', 'order_paid', workspace.admin.key, workspace.server.origin])
    expect(text).not.toContain(word);
});
