import { expect, test } from 'vitest';
import { applyRetention } from '../../../src/domains/retention/retention-job.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, moveTo } from '../../support/fixtures/sessions.ts';

/** A run of the retention job that ends in the middle. */

const gateway = useOwnGateway({ AUDIT_RETENTION_MIN_DAYS: '1' });
const at = (days: number) => gateway.setClock(new Date(Date.UTC(2026, 0, 1 + days)));

async function apply({ signal = new AbortController().signal, jobId = 'another job' } = {}) {
  await applyRetention({ ...workContext(gateway.dependencies), log: gateway.dependencies.log, signal }, jobId);
}

const finished = async (key: string) => {
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'COMPLETED');
  return id;
};

const keep = async (key: string, organizationId: string, body: object) =>
  gateway.rest('PATCH', `/v1/organizations/${organizationId}/retention`, { key, body });

test('a run that is interrupted twice has one entry in the audit log, which counts at every moment what was deleted', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  await finished(key);
  await finished(key);
  const body = { label: 'Paid', primaryObject: 'CONTACT' };
  await gateway.rest('POST', '/events/2026-03/event-definitions', { key, body });
  await gateway.rest('POST', '/events/2026-03/send', { key, body: { eventName: 'paid', objectId: '1' } });
  at(20);
  await keep(key, organizationId, { sessionDays: 10, occurrenceDays: 10, auditLogDays: 10 });
  const jobId = crypto.randomUUID();
  const entries = () =>
    gateway.dependencies.sql.query<{ detail: string }>(
      `select detail, request_id = $2 as "isOfJob" from audit_entry where organization_id = $1 and operation = 'applyRetention'`,
      [organizationId, jobId],
    );
  /** Stops after so many batches, also empty ones. */
  const attempt = async (batches: number) => {
    const stopping = new AbortController();
    const check = stopping.signal.throwIfAborted.bind(stopping.signal);
    let before = batches;
    stopping.signal.throwIfAborted = () => {
      if (before === 0) stopping.abort(new Error('the process stops'));
      before -= 1;
      check();
    };
    return apply({ signal: stopping.signal, jobId });
  };
  await expect(attempt(1)).rejects.toThrow('the process stops');
  const of = (occurrences: number, audited: number) => [
    { detail: `2 sessions, ${occurrences} event occurrences, ${audited} audit log entries`, isOfJob: true },
  ];
  expect(await entries()).toEqual(of(0, 0));
  await expect(attempt(2)).rejects.toThrow('the process stops');
  expect(await entries()).toEqual(of(1, 0));
  await attempt(Infinity);
  const [counted] = await entries();
  expect([counted]).toEqual(of(1, Number(/(\d+) audit/.exec(counted?.detail ?? '')?.[1])));
  expect(counted?.detail).not.toContain(' 0 audit');
  await apply();
  expect(await entries()).toEqual([counted]);
});

test('what the audit log cannot count is not deleted', async () => {
  at(0);
  const { key, organizationId } = await gateway.createKey();
  const id = await finished(key);
  await keep(key, organizationId, { sessionDays: 10 });
  at(20);
  await gateway.dependencies.sql.query(
    `alter table audit_entry add constraint refused check (operation <> 'applyRetention') not valid`,
    [],
  );
  await expect(apply()).rejects.toThrow('refused');
  await gateway.dependencies.sql.query('alter table audit_entry drop constraint refused', []);
  expect((await gateway.rest('GET', `/v1/sessions/${id}`, { key })).status).toBe(200);
});
