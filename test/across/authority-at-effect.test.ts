import { describe, expect, inject, test } from 'vitest';
import {
  ADMIN_CHANGES,
  CHANGES,
  type Change,
  LOSSES,
  type Loss,
  type ChangeTargets,
  createChangeTargets,
  sendSlowly,
  statusOf,
  endRights,
} from '../support/fixtures/changes.ts';
import { type TestGateway, startTestGateway, useOwnGateway } from '../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../support/fixtures/locks.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import { onServer } from '../support/global-setup.ts';
import { sampled, sampledRuns } from '../support/sample.ts';

/** A request whose caller loses a right while it runs is refused when its change would take effect. */

/** Each change of a caller is sent at once, so more than one person may send at a time. */
const ALL_AT_ONCE = { REQUESTS_AT_ONCE: '300', REQUESTS_AT_ONCE_OF_PERSON: '300', REQUESTS_AT_ONCE_OF_ADDRESS: '300' };

const gateway = useOwnGateway(ALL_AT_ONCE);

/** Number of connections in a gateway's pool. */
const CONNECTIONS = 20;

type Caller = Awaited<ReturnType<TestGateway['createKey']>>;

/** Two administrators of an organization, and the objects that they change. The second one, `caller`, loses rights. */
async function setUp(): Promise<{ admin: Caller; caller: Caller; place: ChangeTargets }> {
  const admin = await gateway.createKey();
  const caller = await gateway.createKey({ organization: admin.organization, role: 'admin' });
  return { admin, caller, place: await createChangeTargets(gateway, caller) };
}

async function changesOf({ keyId }: Caller): Promise<number> {
  const query = `select 1 from audit_entry where key_id = $1 and refusal is null`;
  return (await gateway.dependencies.sql.query(query, [keyId])).length;
}

const everyChange = { ...CHANGES, ...ADMIN_CHANGES };
const nameAndMake = Object.entries(everyChange);

const lost: [Loss, readonly [string, (place: ChangeTargets) => Change][], number][] = LOSSES.map((loss) => [
  loss,
  loss === 'demoted' ? Object.entries(ADMIN_CHANGES) : nameAndMake,
  loss === 'demoted' ? 403 : 401,
]);

describe('a request whose body arrives slowly', () => {
  sampled(test, 2).each(lost)(
    'changes nothing if the caller is %s before the body is complete',
    async (loss, changes, status) => {
      const { admin, caller, place } = await setUp();
      const before = await changesOf(caller);
      const requests = changes.map(([, make]) => sendSlowly(gateway, caller.key, make(place)));
      await Promise.all(requests.map(({ isRead }) => isRead));
      await endRights(gateway, admin.key, loss, caller);
      for (const { finish } of requests) finish();
      const statuses = await Promise.all(requests.map(async ({ answer }) => statusOf(await answer)));
      expect(Object.fromEntries(changes.map(([name], index) => [name, statuses[index]]))).toEqual(
        Object.fromEntries(changes.map(([name]) => [name, status])),
      );
      expect(await changesOf(caller)).toBe(before);
    },
  );

  test('is 403 if its key is unbound and the user was removed from the organization', async () => {
    const { admin, caller, place } = await setUp();
    await gateway.createKey({ email: caller.email });
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [caller.keyId]);
    const headers = { 'X-Organization-Id': caller.organization };
    const update = everyChange['updateSession']?.(place);
    if (!update) throw new Error('no such change');
    const request = sendSlowly(gateway, caller.key, { ...update, headers });
    await request.isRead;
    await endRights(gateway, admin.key, 'removed', caller);
    request.finish();
    expect(await statusOf(await request.answer)).toBe(403);
  });

  test('succeeds if the caller keeps all rights', async () => {
    const { caller, place } = await setUp();
    const request = sendSlowly(
      gateway,
      caller.key,
      CHANGES['createApiKey']?.(place) ?? { method: '', path: '', body: {} },
    );
    await request.isRead;
    request.finish();
    expect(await statusOf(await request.answer)).toBe(200);
  });
});

/** The lock that orders changes of a user and losses of their rights. */
const RIGHTS_OF = 'select pg_advisory_xact_lock(1, hashtext(?))';

describe('a request that has been read', () => {
  sampled(test, 2).each(lost)(
    'changes nothing if the caller is %s before its transaction begins',
    async (loss, changes, status) => {
      const { admin, caller, place } = await setUp();
      const before = await changesOf(caller);
      const answers = await whileLocked(gateway, RIGHTS_OF, [caller.userId], async (release) => {
        const sent = changes.map(async ([name, make]) => {
          const { method, path, body, headers } = make(place);
          const response = await gateway.fetch(path, {
            method,
            headers: { Authorization: `Bearer ${caller.key}`, 'Content-Type': 'application/json', ...headers },
            body: JSON.stringify(body),
          });
          return [name, await statusOf(response)];
        });
        await untilWaitingForLock(gateway, changes.length);
        const taken = endRights(gateway, admin.key, loss, caller);
        await expect.poll(() => isTaken(caller, loss), { interval: 10 }).toBe(true);
        await release();
        await taken;
        return Promise.all(sent);
      });
      expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(changes.map(([name]) => [name, status])));
      expect(await changesOf(caller)).toBe(before);
    },
  );

  async function isTaken({ userId, keyId, organizationId }: Caller, loss: Loss): Promise<boolean> {
    const [row] = await gateway.dependencies.sql.query<{ revoked: boolean; expired: boolean; role: string | null }>(
      `select revoked_at is not null as revoked, expires_at <= now() as expired,
         (select role from membership where user_id = $2 and organization_id = $3) as role from api_key where id = $1`,
      [keyId, userId, organizationId],
    );
    const { revoked = false, expired = false, role = null } = row ?? {};
    return { revoked, expired, removed: role === null, demoted: role === 'member' }[loss];
  }

  test.each(['revoked', 'removed', 'demoted'] as const)(
    'is committed before the answer that its caller was %s',
    async (loss) => {
      const { admin, caller } = await setUp();
      const sessionId = await createSession(gateway, caller.key);
      const order: string[] = [];
      const query =
        'mutation($input: TransitionSessionInput!) { transitionSession(input: $input) { __typename ... on Error { message } } }';
      await whileLocked(gateway, 'select 1 from session where id = ? for update', [sessionId], async (release) => {
        const changed = gateway
          .graphql(caller.key, query, { input: { sessionId, state: 'IN_PROGRESS' } })
          .then(({ data }) => order.push(JSON.stringify(data)));
        await untilWaitingForLock(gateway, 1);
        const taken = endRights(gateway, admin.key, loss, caller).then(() => order.push('taken'));
        await untilWaitingForLock(gateway, 2);
        expect(order).toEqual([]);
        await release();
        await Promise.all([changed, taken]);
      });
      const [row] = await gateway.dependencies.sql.query<{ state: string }>('select state from session where id = $1', [
        sessionId,
      ]);
      expect([row?.state, order.toSorted()]).toEqual([
        'inProgress',
        ['taken', '{"transitionSession":{"__typename":"TransitionSessionPayload"}}'],
      ]);
    },
  );

  test('administrators who take each other’s rights at the same time do not deadlock: each change is made, or refused because of another', async () => {
    for (let round = sampledRuns(5, 2); round > 0; round -= 1) {
      const { admin, caller } = await setUp();
      const third = await gateway.createKey({ organization: admin.organization, role: 'admin' });
      const outcomes = await Promise.allSettled([
        endRights(gateway, admin.key, 'removed', caller),
        endRights(gateway, caller.key, 'removed', admin),
        endRights(gateway, third.key, 'demoted', admin),
        endRights(gateway, caller.key, 'revoked', caller),
      ]);
      // The first one succeeds. A later one may fail because its caller has lost the right, or its target the membership.
      expect(outcomes.map(({ status }) => status)).toContain('fulfilled');
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? String(outcome.reason) : []));
      const refusal = /"code":"(?:UNAUTHENTICATED|FORBIDDEN|NOT_FOUND)"/;
      expect(failures.filter((failure) => !refusal.test(failure))).toEqual([]);
      const administrators = await gateway.dependencies.sql.query<{ id: string }>(
        `select user_id as id from membership where organization_id = $1 and role = 'admin'`,
        [admin.organizationId],
      );
      const remaining = administrators.map(({ id }) => id);
      expect(remaining).toContain(third.userId);
      expect(remaining).not.toContain(admin.userId);
    }
  });
});

test('a key is revoked while more requests run than the gateway has connections: each gets 401, and none blocks another', async () => {
  const { caller } = await setUp();
  const beside = await startTestGateway({}, { beside: gateway });
  const create = (index: number) => {
    const headers: Record<string, string> = index % 2 === 0 ? {} : { 'Idempotency-Key': `k-${index}` };
    return gateway.rest('POST', '/v1/sessions', { key: caller.key, body: { title: 'Late' }, headers });
  };
  try {
    const requests = () => Array.from({ length: 2 * CONNECTIONS }, (_, index) => create(index));
    const statuses = await statusesOfRevoked(beside, caller, requests, CONNECTIONS);
    expect(new Set(statuses)).toEqual(new Set([401]));
  } finally {
    await beside.close();
  }
});

test('a change sees that its key was revoked while it waited, whatever isolation the database has by default', async () => {
  const { caller } = await setUp();
  const sessionId = await createSession(gateway, caller.key);
  const name = new URL(gateway.databaseUrl).pathname.slice(1);
  await onServer(inject('serverUrl'), `alter database ${name} set default_transaction_isolation = 'repeatable read'`);
  const beside = await startTestGateway({}, { beside: gateway });
  try {
    const options = { key: caller.key, body: { title: 'Late' } };
    const requests = () => [
      beside.rest('PATCH', `/v1/sessions/${sessionId}`, options),
      beside.rest('POST', '/v1/sessions', options),
    ];
    expect(await statusesOfRevoked(gateway, caller, requests, 2)).toEqual([401, 401]);
  } finally {
    await beside.close();
    await onServer(inject('serverUrl'), `alter database ${name} reset default_transaction_isolation`);
  }
});

/** The statuses of requests whose key is revoked through `holder` while `waiting` of them wait for the lock on its user. */
async function statusesOfRevoked(
  holder: TestGateway,
  caller: Caller,
  sendAll: () => Promise<{ readonly status: number }>[],
  waiting: number,
): Promise<number[]> {
  return whileLocked(holder, 'select wait_for_changes_of(?)', [caller.userId], async (release) => {
    const requests = sendAll();
    await untilWaitingForLock(holder, waiting);
    await holder.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [caller.keyId]);
    await release();
    return (await Promise.all(requests)).map(({ status }) => status);
  });
}

sampled(test, 3).each(nameAndMake)(
  '%s on every connection at the same time: no request needs a second connection',
  async (name, make) => {
    const { caller, place } = await setUp();
    const beside = await startTestGateway({}, { beside: gateway });
    try {
      await whileLocked(beside, 'select wait_for_changes_of(?)', [caller.userId], async (release) => {
        const requests = Array.from({ length: CONNECTIONS }, () => send(caller.key, make(place)));
        // Appends to one session run one at a time in a process.
        await untilWaitingForLock(beside, name.startsWith('append') ? 1 : CONNECTIONS);
        await release();
        expect(await Promise.all(requests)).not.toContain(503);
      });
    } finally {
      await beside.close();
    }
  },
);

async function send(key: string, { method, path, body, headers }: Change): Promise<number> {
  const all = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers };
  return statusOf(await gateway.fetch(path, { method, headers: all, body: JSON.stringify(body) }));
}
