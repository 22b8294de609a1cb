import { expect, test } from 'vitest';
import { deleteOrphans } from '../../../src/domains/session-events/purge.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../../support/fixtures/sessions.ts';

/** Rolling upgrades: a worker of the release before deletes a session, and relies on a foreign key for its batch ids. */

const gateway = useOwnGateway();

test('batch ids of a session that is gone are deleted within a day, in small batches; those of others stay', async () => {
  const { key } = await gateway.createKey();
  const { sql, database } = gateway.dependencies;
  const [gone, kept] = [await createSession(gateway, key), await createSession(gateway, key)];
  for (const [session, count] of [
    [gone, 3],
    [kept, 2],
  ] as const)
    for (let batch = 0; batch < count; batch += 1) await append(gateway, key, session, eventsOf(1), `batch-${batch}`);
  await sql.query('delete from session where id = $1', [gone]);

  const deleted: number[] = [];
  for (let hour = 0; hour < 24; hour += 1)
    for (let count = 1; count > 0; deleted.push(count))
      count = await deleteOrphans(database.em.fork(), {
        table: 'session_event_batch',
        at: new Date(Date.UTC(2026, 10, 28, hour)),
        batch: 2,
      });
  expect(deleted.filter((count) => count > 0)).toEqual([2, 1]);
  expect(await sql.query('select session_id, count(*)::int from session_event_batch group by 1', [])).toEqual([
    { session_id: kept, count: 2 },
  ]);
});
