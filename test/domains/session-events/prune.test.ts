import { expect, test } from 'vitest';
import { UsageError } from '../../../src/operator/command-arguments.ts';
import { parseCommandLine } from '../../../src/operator/command-line.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock } from '../../support/fixtures/locks.ts';
import { EventStream, append, createSession, eventsOf, moveTo, readAll } from '../../support/fixtures/sessions.ts';

/** `events prune` deletes old events. */

const gateway = useTestGateway();

const globalId = (sessionId: string) => Buffer.from(`Session:${sessionId}`).toString('base64');
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

async function prune(args: string, { signal }: { signal?: AbortSignal } = {}): Promise<object> {
  const command = parseCommandLine(['events', 'prune', ...args.split(' ').filter(Boolean)]);
  if (command.name !== 'events prune') throw new Error('the arguments are of another command');
  return runCommand(gateway.dependencies, command, { progress: { write: () => undefined }, ...(signal && { signal }) });
}

const idsOf = async (key: string, id: string) => (await readAll(gateway, key, id, 1000)).map((event) => event.id);

/** Sets when an event was stored. */
const storedAt = (id: string, event: number, age: number) =>
  gateway.dependencies.sql.query('update session_event set stored_at = $3 where session_id = $1 and id = $2', [
    id,
    event,
    daysAgo(age),
  ]);

/** Creates a session with one event for each of these ages, in days, whatever the runner says. */
async function sessionOf(key: string, ...ages: number[]): Promise<string> {
  const id = await createSession(gateway, key);
  for (const age of ages) {
    const { lastId } = await append(gateway, key, id, eventsOf(1, { createdAt: daysAgo(1) }));
    await storedAt(id, Number(lastId), age);
  }
  return id;
}

test('--older-than deletes the oldest events of a session up to the first that is newer, so that no gap arises', async () => {
  const { key, organization } = await gateway.createKey();
  const mixed = await sessionOf(key, 100, 95, 10, 99, 1);
  const old = await sessionOf(key, 100, 91);
  const young = await sessionOf(key, 89, 100);
  const empty = await createSession(gateway, key);
  const counted = { sessions: 2, events: 4, before: expect.any(String) };
  expect(await prune(`--older-than 90d --organization ${organization} --dry-run`)).toEqual({
    ...counted,
    isDryRun: true,
  });
  expect(await idsOf(key, mixed)).toEqual([1, 2, 3, 4, 5]);

  expect(await prune(`--older-than 90d --organization ${organization}`)).toEqual({ ...counted, isDryRun: false });
  expect(await idsOf(key, mixed)).toEqual([3, 4, 5]);
  expect(await idsOf(key, old)).toEqual([]);
  expect(await idsOf(key, young)).toEqual([1, 2]);
  expect(await idsOf(key, empty)).toEqual([]);
  expect(await prune(`--older-than 90d --organization ${organization}`)).toMatchObject({ sessions: 0, events: 0 });
});

test('the time that a runner gave does not count, unless an earlier version has stored the event', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await append(gateway, key, id, eventsOf(2, { createdAt: '1999-01-01T00:00:00.000Z' }));
  expect(await prune(`--older-than 1d --session ${id}`)).toMatchObject({ events: 0 });
  await gateway.dependencies.sql.query('update session_event set stored_at = null where session_id = $1 and id = 1', [
    id,
  ]);
  expect(await prune(`--older-than 1d --session ${id}`)).toMatchObject({ events: 1 });
  expect(await idsOf(key, id)).toEqual([2]);
});

test('after pruning, new ids continue, cursors stay valid, and a live tail begins with the first remaining event', async () => {
  const { key } = await gateway.createKey();
  const id = await sessionOf(key, 100, 95);
  await prune(`--older-than 48h --session ${id.toUpperCase()}`);
  expect(await append(gateway, key, id, eventsOf(1))).toMatchObject({ firstId: '3', lastId: '3' });
  const { body } = await gateway.rest<{ items: { id: number }[] }>('GET', `/v1/sessions/${id}/events?cursor=1`, {
    key,
  });
  expect(body.items.map((event) => event.id)).toEqual([3]);
  await moveTo(gateway, key, id, 'CANCELLED');
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
  const stream = new EventStream(await gateway.fetch(`/v1/sessions/${id}/events`, { headers }));
  expect([await stream.nextData(), await stream.nextData()]).toMatchObject([{ id: '3' }, { event: 'end' }]);
});

test('--session deletes all events of that session, in batches, and none of another', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  for (let from = 1; from <= 6000; from += 1000) await append(gateway, key, id, eventsOf(1000, { from }));
  const other = await sessionOf(key, 100);
  expect(await prune(`--session ${id}`)).toEqual({ sessions: 1, events: 6000, before: null, isDryRun: false });
  expect(await idsOf(key, id)).toEqual([]);
  expect(await idsOf(key, other)).toEqual([1]);
});

test('a held session keeps its events, also if the hold comes while they are deleted', async () => {
  const { key, organization } = await gateway.createKey();
  const [held, late, other] = [await sessionOf(key, 100), await sessionOf(key, 100), await sessionOf(key, 100)];
  const hold = (id: string) => gateway.rest('PUT', `/v1/sessions/${id}/hold`, { key, body: { reason: 'Evidence' } });
  await hold(held);
  await expect(prune(`--session ${held}`)).rejects.toThrow('the session is held');
  expect(await prune(`--older-than 90d --organization ${organization} --dry-run`)).toMatchObject({ sessions: 2 });
  // The command has found the session, and waits for its row.
  const em = gateway.dependencies.database.em.fork();
  await em.begin();
  await em.execute('select from session where id = ? for update', [late]);
  const pruning = prune(`--older-than 90d --organization ${organization}`);
  await untilWaitingForLock(gateway, 1);
  await em.execute('update session set held_at = now() where id = ?', [late]);
  await em.commit();
  expect(await pruning).toMatchObject({ sessions: 1, events: 1 });
  expect([await idsOf(key, held), await idsOf(key, late), await idsOf(key, other)]).toEqual([[1], [1], []]);
});

test('the audit log has an entry with the source COMMAND_LINE for each pruned session', async () => {
  const { key } = await gateway.createKey();
  const id = await sessionOf(key, 100);
  await prune(`--older-than 90d --session ${id}`);
  const query = `{ viewer { organization { auditLog(first: 1) { nodes { operation source targetType targetId } } } } }`;
  const { data, errors } = await gateway.graphql<{ viewer: object }>(key, query);
  expect({ data, errors }).toEqual({
    data: {
      viewer: {
        organization: {
          auditLog: {
            nodes: [
              {
                operation: 'pruneSessionEvents',
                source: 'COMMAND_LINE',
                targetType: 'Session',
                targetId: globalId(id),
              },
            ],
          },
        },
      },
    },
    errors: undefined,
  });
});

test('an interrupted command prints how to continue, and the next one does; the error for a missing session or organization names it', async () => {
  const { key } = await gateway.createKey();
  const id = await sessionOf(key, 100);
  const interrupted = prune(`--session ${id}`, { signal: AbortSignal.abort() });
  await expect(interrupted).rejects.toThrow('interrupted; run the same command again to continue');
  expect(await idsOf(key, id)).toEqual([1]);
  expect(await prune(`--session ${id}`)).toMatchObject({ events: 1 });
  await expect(prune(`--session 00000000-0000-4000-8000-000000000000`)).rejects.toThrow(
    new UsageError('session not found'),
  );
  await expect(prune('--older-than 1d --organization nobody')).rejects.toThrow('organization nobody not found');
});
