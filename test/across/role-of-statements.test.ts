import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { authenticate } from '../../src/gateway/admission/authenticate.ts';
import type { OperationContext } from '../../src/core/operation.ts';
import { operationContext } from '../../src/gateway/contexts.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

/**
 * Statements are cached, and the role of the caller decides their condition: an administrator misses no row and a member sees no more rows,
 * whoever comes first. Other statements of an operation check the same rights, so each statement is run by itself.
 */

let gateway: TestGateway;
let contexts: Readonly<Record<'admin' | 'member', OperationContext>>;
/** A private session of each, with as many events. */
let ids: [ofAdmin: string, ofMember: string];
beforeAll(async () => {
  gateway = await startTestGateway();
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const contextOf = async ({ key }: { key: string }) => {
    const actor = await authenticate(new Headers({ Authorization: `Bearer ${key}` }), gateway.dependencies);
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
afterAll(() => gateway.close());

describe.each([[['admin', 'member']], [['member', 'admin']]] as const)('in the order %j', (order) => {
  // The caches belong to modules: the statements of new modules are not cached yet.
  beforeEach(() => void vi.resetModules());
  const queriesOfSessions = () => import('../../src/domains/sessions/queries.ts');
  const queriesOfEvents = () => import('../../src/domains/session-events/queries.ts');

  /** What each caller reads, one after the other. */
  async function readBoth<Result>(read: (context: OperationContext) => Promise<Result>) {
    const results: Partial<Record<'admin' | 'member', Result>> = {};
    for (const role of order) results[role] = await read(contexts[role]);
    return results;
  }

  test('sessions that have changed', async () => {
    const { findSessionChanges } = await queriesOfSessions();
    const found = await readBoth((context) => findSessionChanges(context, new Date(0), 10));
    const idsOf = (rows: typeof found.admin) => rows?.map(({ id }) => id);
    expect([idsOf(found.admin), idsOf(found.member)]).toEqual([ids, ids.slice(1)]);
  });

  test('sessions that meet a filter', async () => {
    const { findMatchingSessions } = await queriesOfSessions();
    const found = await readBoth((context) =>
      findMatchingSessions(context, { ids, filter: { visibilities: ['private'] } }, ['id']),
    );
    const idsOf = (rows: typeof found.admin) => rows?.map(({ id }) => id).toSorted();
    expect([idsOf(found.admin), idsOf(found.member)]).toEqual([ids.toSorted(), ids.slice(1)]);
  });

  test('numbers of events', async () => {
    const { countsOf } = await queriesOfEvents();
    const found = await readBoth((context) => countsOf(context, {})(ids));
    const countsIn = (counts: typeof found.admin) => ids.map((id) => counts?.get(id));
    expect([countsIn(found.admin), countsIn(found.member)]).toEqual([
      [1, 2],
      [undefined, 2],
    ]);
  });

  test('number of events of one session', async () => {
    const { countsOf } = await queriesOfEvents();
    const found = await readBoth((context) => countsOf(context, {})(ids.slice(0, 1)));
    expect([found.admin?.get(ids[0]), found.member?.get(ids[0])]).toEqual([1, undefined]);
  });
});
