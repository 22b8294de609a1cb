import { beforeAll, describe, expect, test } from 'vitest';
import type { OperationContext } from '../../src/core/operation.ts';
import { countsOf } from '../../src/domains/session-events/queries.ts';
import { SESSIONS, findSessionChanges } from '../../src/domains/sessions/queries.ts';
import { authenticate } from '../../src/gateway/admission/authenticate.ts';
import { operationContext } from '../../src/gateway/contexts.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/**
 * Statements are cached, and the role of the caller decides their condition: an administrator misses no row and a member sees no more rows,
 * whoever comes first. Other statements of an operation check the same rights, so each statement is run by itself.
 */

const gateway = useTestGateway();
let contexts: Readonly<Record<'admin' | 'member', OperationContext>>;
/** A private session of each, with as many events. */
let ids: [ofAdmin: string, ofMember: string];
beforeAll(async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const contextOf = async ({ key }: { key: string }) => {
    const actor = await authenticate(
      { headers: new Headers({ Authorization: `Bearer ${key}` }), path: '/v1/sessions' },
      gateway.dependencies,
    );
    return operationContext(gateway.dependencies, actor, { requestId: 'r1' });
  };
  contexts = { admin: await contextOf(admin), member: await contextOf(member) };
  const sessionOf = async ({ key }: { key: string }, events: number) => {
    const id = await createSession(gateway, key, { visibility: 'PRIVATE' });
    await append(gateway, key, id, eventsOf(events));
    return id;
  };
  ids = [await sessionOf(admin, 1), await sessionOf(member, 2)];
});

interface Order {
  readonly order: readonly ('admin' | 'member')[];
  /** Of changed sessions. */
  readonly limit: number;
  /** Of sessions. */
  readonly columns: readonly ('id' | 'title')[];
  /** Of events. */
  readonly filter: { eventTypes: string[] } | { providers: string[] };
}

// The statements of the second order have another shape, so that they are not cached yet.
describe.each<Order>([
  { order: ['admin', 'member'], limit: 10, columns: ['id'], filter: { eventTypes: ['text'] } },
  { order: ['member', 'admin'], limit: 11, columns: ['id', 'title'], filter: { providers: ['anthropic'] } },
])('in the order $order', ({ order, limit, columns, filter }) => {
  /** What each caller reads, one after the other. */
  async function readBoth<Result>(read: (context: OperationContext) => Promise<Result>) {
    const results: Partial<Record<'admin' | 'member', Result>> = {};
    for (const role of order) results[role] = await read(contexts[role]);
    return results;
  }

  test('sessions that have changed', async () => {
    const found = await readBoth((context) => findSessionChanges(context, new Date(0), limit));
    const idsOf = (rows: typeof found.admin) => rows?.map(({ id }) => id);
    expect([idsOf(found.admin), idsOf(found.member)]).toEqual([ids, ids.slice(1)]);
  });

  test('sessions that meet a filter', async () => {
    const found = await readBoth((context) => SESSIONS.find(context, ids, columns, { visibilities: ['private'] }));
    const idsOf = (rows: typeof found.admin) => rows?.map(({ id }) => id).toSorted();
    expect([idsOf(found.admin), idsOf(found.member)]).toEqual([ids.toSorted(), ids.slice(1)]);
  });

  test('numbers of events', async () => {
    const found = await readBoth((context) => countsOf(context, filter)(ids));
    const countsIn = (counts: typeof found.admin) => ids.map((id) => counts?.get(id));
    expect([countsIn(found.admin), countsIn(found.member)]).toEqual([
      [1, 2],
      [undefined, 2],
    ]);
  });
});
