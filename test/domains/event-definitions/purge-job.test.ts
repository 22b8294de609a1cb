import { afterEach, expect, test } from 'vitest';
import { eventPurgeJob } from '../../../src/domains/event-occurrences/purge.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** The job that deletes the occurrences of a deleted event definition. */

const gateway = useOwnGateway();
afterEach(() => rows('delete from pgboss.job'));

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const stateOf = async (id: string) =>
  (await rows<{ state: string }>('select state from pgboss.job where id = $1', id))[0]?.state;

async function define(key: string, label: string, occurrences: number): Promise<{ id: string; name: string }> {
  const { body } = await gateway.rest<{ id: string; name: string }>('POST', '/events/2026-03/event-definitions', {
    key,
    body: { label },
  });
  await rows(
    `with sent as (
       insert into event_occurrence (definition_id, occurred_at, id, organization_id, received_at, uuid, properties)
       select d.id, now() - n * interval '1 second', gen_random_uuid(), d.organization_id, now(), gen_random_uuid(), '{}'
       from event_definition d, generate_series(1, $2::int) n where d.id = $1 returning definition_id, uuid, organization_id
     )
     insert into event_occurrence_uuid (definition_id, uuid, organization_id, expires_at)
     select definition_id, uuid, organization_id, now() + interval '1 year' from sent`,
    body.id,
    occurrences,
  );
  return body;
}
const stored = async ({ id }: { id: string }) => [
  (await rows('select 1 from event_occurrence where definition_id = $1', id)).length,
  (await rows('select 1 from event_occurrence_uuid where definition_id = $1', id)).length,
];
const removeDefinition = async (key: string, name: string) =>
  (await gateway.rest('DELETE', `/events/2026-03/event-definitions/${name}`, { key })).status;

test('deleting a definition queues a job, which deletes all its occurrences in batches and no others', async () => {
  const { key } = await gateway.createKey();
  const [gone, stays] = [await define(key, 'Gone', 11_000), await define(key, 'Stays', 3)];
  expect(await removeDefinition(key, gone.name)).toBe(204);
  expect(await rows('select id, data, state from pgboss.job')).toEqual([
    { id: gone.id, data: { definitionId: gone.id }, state: 'created' },
  ]);
  expect(await stored(gone)).toEqual([11_000, 11_000]);
  await runJobs(gateway);
  expect([await stored(gone), await stored(stays), await stateOf(gone.id)]).toEqual([[0, 0], [3, 3], 'completed']);
  expect(
    await rows('select name, deleted_at is not null as "isDeleted" from event_definition where id = $1', gone.id),
  ).toEqual([{ name: 'gone', isDeleted: true }]);
});

test('a refused deletion queues no job; the job of a definition without occurrences succeeds', async () => {
  const { key } = await gateway.createKey();
  const empty = await define(key, 'Empty', 0);
  expect(await removeDefinition(key, 'missing')).toBe(404);
  expect(await rows('select id from pgboss.job')).toEqual([]);
  expect([await removeDefinition(key, empty.name), await removeDefinition(key, empty.name)]).toEqual([204, 404]);
  expect(await rows('select id from pgboss.job')).toEqual([{ id: empty.id }]);
  await runJobs(gateway);
  expect(await rows('select id, state from pgboss.job')).toEqual([{ id: empty.id, state: 'completed' }]);
});

test('an interrupted job continues when it runs again; the job refuses a definition that is not deleted', async () => {
  const { key } = await gateway.createKey();
  const [gone, stays] = [await define(key, 'Gone', 6_000), await define(key, 'Stays', 3)];
  await removeDefinition(key, gone.name);
  const { log } = gateway.dependencies;
  const run = (definitionId: string, signal: AbortSignal) =>
    eventPurgeJob.run({ ...workContext(gateway.dependencies), log, signal }, { definitionId }, crypto.randomUUID());
  const stopping = new AbortController();
  const check = stopping.signal.throwIfAborted.bind(stopping.signal);
  let batches = 0;
  stopping.signal.throwIfAborted = () => {
    if (batches === 1) stopping.abort(new Error('the process stops'));
    batches += 1;
    check();
  };
  await expect(run(gone.id, stopping.signal)).rejects.toThrow('the process stops');
  expect(await stored(gone)).toEqual([1_000, 1_000]);
  await run(gone.id, new AbortController().signal);
  await expect(run(stays.id, new AbortController().signal)).rejects.toThrow('is not deleted');
  expect([await stored(gone), await stored(stays)]).toEqual([
    [0, 0],
    [3, 3],
  ]);
});
