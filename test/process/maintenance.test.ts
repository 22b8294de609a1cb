import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { enqueueJob } from '../../src/core/jobs.ts';
import { workContext } from '../../src/gateway/contexts.ts';
import { maintenanceJob, startJobs } from '../../src/gateway/background-jobs.ts';
import { type TestGateway, useOwnGateway } from '../support/fixtures/gateway.ts';
import { runJobs } from '../support/processes/jobs.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-03-01T10:00:00.000Z');
const after = (ms: number) => new Date(START.getTime() + ms);

const gateway = useOwnGateway({ AUDIT_RETENTION_DAYS: '30' });
let issued: Awaited<ReturnType<TestGateway['createKey']>>;
beforeAll(async () => {
  issued = await gateway.createKey();
});
afterEach(async () => {
  gateway.setClock(undefined);
  for (const table of ['idempotency_key', 'audit_entry', 'event_occurrence_uuid']) await rows(`delete from ${table}`);
});

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const count = async (table: string) => (await rows(`select 1 from ${table}`)).length;

const create = (name: string, idempotencyKey: string) =>
  gateway.rest('POST', '/v1/organizations', {
    key: issued.key,
    headers: { 'Idempotency-Key': idempotencyKey },
    body: { name },
  });

/** Runs the job through the queue, with the clock of the gateway. */
async function maintain(): Promise<void> {
  const em = gateway.dependencies.database.em.fork();
  await em.transactional((transaction) =>
    enqueueJob(transaction, 'maintenance', { id: gateway.dependencies.newId(), data: {}, delaySeconds: 0 }),
  );
  await runJobs(gateway);
}

describe('maintenance', () => {
  test('a sign-in of a browser is deleted when it has ended and the audit log no longer names it', async () => {
    const signIn = (at: Date) => {
      gateway.setClock(at);
      return gateway.fetch('/sign-in', { method: 'POST', body: new URLSearchParams({ key: issued.key }) });
    };
    await signIn(START);
    await signIn(after(DAY_MS / 4));
    const keys = await count('api_key');
    const kept = DAY_MS / 2 + 30 * DAY_MS;
    gateway.setClock(after(kept - 1));
    await maintain();
    expect(await count('api_key')).toBe(keys);
    gateway.setClock(after(kept));
    await maintain();
    expect(await count('api_key')).toBe(keys - 1);
  });

  test('an idempotency key is kept for exactly 24 hours', async () => {
    gateway.setClock(START);
    await create('First', 'one');
    gateway.setClock(after(DAY_MS / 2));
    await create('Second', 'two');
    gateway.setClock(after(DAY_MS - 1));
    await maintain();
    expect(await count('idempotency_key')).toBe(2);
    expect((await create('First', 'one')).headers.get('Idempotent-Replayed')).toBe('true');
    gateway.setClock(after(DAY_MS));
    await maintain();
    expect(await count('idempotency_key')).toBe(1);
    expect((await create('Second', 'two')).headers.get('Idempotent-Replayed')).toBe('true');
  });

  test('an entry of the audit log is kept for AUDIT_RETENTION_DAYS', async () => {
    gateway.setClock(START);
    await create('Old', 'old');
    gateway.setClock(after(DAY_MS));
    await create('Young', 'young');
    gateway.setClock(after(30 * DAY_MS));
    await maintain();
    expect(await count('audit_entry')).toBe(2);
    gateway.setClock(after(30 * DAY_MS + 1));
    await maintain();
    expect(await rows('select occurred_at as at from audit_entry')).toEqual([{ at: '2026-03-02T10:00:00.000Z' }]);
  });

  test('with AUDIT_RETENTION_DAYS=0, entries of the audit log are never deleted', async () => {
    gateway.setClock(START);
    await create('Kept', 'kept');
    const { signal } = new AbortController();
    const now = () => new Date('9000-01-01T00:00:00.000Z');
    const storedNow = async () => now();
    const context = { ...workContext(gateway.dependencies), log: gateway.dependencies.log, now, storedNow, signal };
    await maintenanceJob({ AUDIT_RETENTION_DAYS: 0 }).run(context, {}, crypto.randomUUID());
    expect([await count('audit_entry'), await count('idempotency_key')]).toEqual([1, 0]);
  });

  test('a process whose clock is 400 days ahead of the database deletes nothing, says so in one line, and shows it as a metric', async () => {
    await create('Kept', 'kept');
    const differing = () => gateway.logged.filter((line) => line.includes('nothing is deleted by age')).length;
    gateway.setProcessClock(new Date(Date.now() + 400 * DAY_MS));
    const lines = differing();
    await maintain();
    expect([await count('audit_entry'), await count('idempotency_key'), differing() - lines]).toEqual([1, 1, 1]);
    const ahead = /^gateway_clock_ahead_seconds (.*)$/m.exec(await (await gateway.fetch('/metrics')).text())?.[1];
    expect(Math.round((Number(ahead) * 1000) / DAY_MS)).toBe(400);
    gateway.setClock(new Date(Date.now() + 400 * DAY_MS));
    await maintain();
    expect([await count('audit_entry'), await count('idempotency_key')]).toEqual([0, 0]);
  });

  test('in many batches, all expired rows are deleted, including uuids of occurrences, and no other rows', async () => {
    gateway.setClock(START);
    const definition = await gateway.rest<{ id: string }>('POST', '/events/2026-03/event-definitions', {
      key: issued.key,
      body: { label: `Many` },
    });
    await rows(
      `insert into event_occurrence_uuid (definition_id, uuid, organization_id, expires_at)
        select $1, gen_random_uuid(), $2, $3::timestamptz + n * interval '1 second' from generate_series(1, 2600) n`,
      definition.body.id,
      issued.organizationId,
      START,
    );
    await rows(
      `insert into audit_entry (occurred_at, id, source, operation, target_type, request_id)
        select $1::timestamptz - interval '31 days', gen_random_uuid(), 'job', 'x', 'X', 'x' from generate_series(1, 2500)`,
      START,
    );
    gateway.setClock(after(2_500_000));
    await maintain();
    expect([await count('event_occurrence_uuid'), await count('audit_entry')]).toEqual([100, 1]);
  });

  test('the questionnaire of a deletion is kept for 30 days after its end, and the deletion job permanently', async () => {
    const insert = `insert into deletion_job (id, user_id, state, questionnaire, emptied_organizations, run_after, created_at, finished_at)
      values (gen_random_uuid(), gen_random_uuid(), $1, '{"reasons": ["mine"]}', '[]', $2, $2, $3)`;
    await rows(insert, 'done', START, START);
    await rows(insert, 'done', START, after(1000));
    await rows(insert, 'queued', START, null);
    const kept = () => rows('select state, questionnaire is not null as kept from deletion_job order by finished_at');
    gateway.setClock(after(30 * DAY_MS));
    await maintain();
    expect((await kept()).map((row) => Object.values(row))).toEqual([
      ['done', true],
      ['done', true],
      ['queued', true],
    ]);
    gateway.setClock(after(30 * DAY_MS + 1));
    await maintain();
    expect((await kept()).map((row) => Object.values(row))).toEqual([
      ['done', false],
      ['done', true],
      ['queued', true],
    ]);
  });

  test('an expired authorization is deleted with its secrets', async () => {
    const body = { type: 'stdio', name: 'mine', visibility: 'personal', command: 'npx' };
    const { connection } = (
      await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', { key: issued.key, body })
    ).body;
    for (const [minutes, name] of [
      [-1, 'over'],
      [5, 'waits'],
    ] as const) {
      const [row] = await rows<{ id: string }>(
        `insert into mcp_authorization (id, organization_id, connection_id, user_id, state_hash, issuer, redirect_uri, expires_at)
          values (gen_random_uuid(), $1, $2, $3, $4, 'https://issuer.example', 'https://here.example', now() + $5 * interval '1 minute') returning id`,
        issued.organizationId,
        connection.id,
        issued.userId,
        Buffer.from(name),
        minutes,
      );
      await rows(
        `insert into secret (owner_table, owner_id, field, organization_id, sealed) values ('mcp_authorization', $1, 'code_verifier', $2, $3)`,
        row?.id,
        issued.organizationId,
        name,
      );
    }
    await maintain();
    expect(await rows(`select encode(state_hash, 'escape') as state from mcp_authorization`)).toEqual([
      { state: 'waits' },
    ]);
    expect(await rows(`select sealed from secret where owner_table = 'mcp_authorization'`)).toEqual([
      { sealed: 'waits' },
    ]);
  });

  test('is scheduled once an hour for all workers together, and only one job waits at a time', async () => {
    for (let worker = 0; worker < 2; worker += 1) await (await startJobs(gateway.dependencies)).stop();
    expect(await rows('select name, cron, timezone from pgboss.schedule order by name')).toEqual([
      { name: 'feed-occurrences', cron: '* * * * *', timezone: 'UTC' },
      { name: 'idle-sessions', cron: '* * * * *', timezone: 'UTC' },
      { name: 'maintenance', cron: '17 * * * *', timezone: 'UTC' },
      { name: 'mcp-refresh', cron: '* * * * *', timezone: 'UTC' },
      { name: 'retention', cron: '47 * * * *', timezone: 'UTC' },
      { name: 'webhook-addresses', cron: '37 * * * *', timezone: 'UTC' },
    ]);
    const em = gateway.dependencies.database.em.fork();
    await em.transactional(async (transaction) => {
      for (let time = 0; time < 2; time += 1)
        await enqueueJob(transaction, 'maintenance', {
          id: gateway.dependencies.newId(),
          data: {},
          delaySeconds: 3600,
        });
    });
    expect(await rows(`select state from pgboss.job where name = 'maintenance' and state = 'created'`)).toHaveLength(1);
  });
});
