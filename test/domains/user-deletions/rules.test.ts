import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { runCommand } from '../../../src/operator/commands.ts';
import { runJobs } from '../../support/processes/jobs.ts';
import { mutate } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useOwnGateway();
let withDelay: TestGateway;
let closed: TestGateway;
beforeAll(async () => {
  withDelay = await startTestGateway({ USER_DELETION_DELAY: '3600' }, { beside: gateway });
  closed = await startTestGateway(
    { USER_SELF_DELETION: 'false', ORGANIZATION_CREATION: 'operator' },
    { beside: gateway },
  );
});
afterAll(() => Promise.all([withDelay.close(), closed.close()]));

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const JOB = 'deletionJob { id databaseId state runAfter createdAt startedAt finishedAt error }';

interface Deletion {
  deletionJob: { id: string; databaseId: string; state: string; runAfter: string; createdAt: string };
}

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const remove = (key: string, userId: string, body?: unknown) =>
  gateway.rest<Record<string, unknown>>('DELETE', `/v1/users/${userId}`, { key, ...(body !== undefined && { body }) });
const jobsOf = (userId: string) =>
  rows<{ id: string; state: string; error: string | null; questionnaire: unknown }>(
    'select id, state, error, questionnaire from deletion_job where user_id = $1',
    userId,
  );
const queuedJobs = (id: string) => rows<{ state: string }>('select state from pgboss.job where id = $1', id);

test('the operator can keep deletions of accounts and new organizations to the command line', async () => {
  const { key, userId, email } = await closed.createKey();
  expect((await closed.rest('DELETE', `/v1/users/${userId}`, { key })).status).toBe(403);
  expect((await closed.rest('POST', '/v1/organizations', { key, body: { name: 'New' } })).status).toBe(403);
  const named = { __typename: 'ForbiddenError' };
  expect(await mutate(closed, key, 'createOrganization', { name: 'New' })).toMatchObject(named);
  expect(await mutate(closed, key, 'deleteUser', { userId })).toMatchObject(named);
  const run = () =>
    runCommand(closed.dependencies, { name: 'users delete', email }, { progress: { write: () => undefined } });
  expect(await run()).toEqual({ userId, deletionJobId: UUID });
  expect(await run()).toEqual({ userId, deletionJobId: UUID });
  expect(await jobsOf(userId)).toHaveLength(1);
  await runJobs(closed);
  expect((await closed.rest('GET', '/v1/users/me', { key })).status).toBe(401);
  await expect(run()).rejects.toThrow('user not found');
  const entries = `select 1 from audit_entry where operation = 'deleteUser' and source = 'command_line'`;
  expect(await rows(entries)).toHaveLength(1);
});

describe('requesting the deletion', () => {
  test.each([
    ['no body', undefined],
    ['an empty object', {}],
    ['no questionnaire', { deletionQuestionnaire: null }],
    ['an empty questionnaire', { deletionQuestionnaire: {} }],
  ])('is 202 with %s, and stores and queues the job', async (_, body) => {
    const { key, userId } = await withDelay.createKey();
    const answer = await withDelay.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${userId}`, {
      key,
      ...(body !== undefined && { body }),
    });
    expect([answer.status, answer.body]).toEqual([202, { deletionJobId: UUID, deletionQueued: true, id: userId }]);
    expect(await jobsOf(userId)).toMatchObject([{ id: answer.body.deletionJobId, state: 'queued', error: null }]);
    expect(await queuedJobs(answer.body.deletionJobId)).toEqual([{ state: 'created' }]);
  });

  test('both APIs return the same job, and a second request keeps it with its first questionnaire', async () => {
    const { key, userId } = await withDelay.createKey();
    const questionnaire = {
      reasons: ['too slow', 'other'],
      submittedAt: '2026-03-01T10:20:30.000Z',
      otherReason: 'It rained.',
    };
    const { deletionJob } = await mutate<Deletion>(
      withDelay,
      key,
      'deleteUser',
      { userId, deletionQuestionnaire: questionnaire },
      JOB,
    );
    expect(deletionJob).toEqual({
      id: Buffer.from(`DeletionJob:${deletionJob.databaseId}`).toString('base64'),
      databaseId: UUID,
      state: 'QUEUED',
      runAfter: TIME,
      createdAt: TIME,
      startedAt: null,
      finishedAt: null,
      error: null,
    });
    expect(Date.parse(deletionJob.runAfter) - Date.parse(deletionJob.createdAt)).toBe(3_600_000);
    const again = await withDelay.rest('DELETE', `/v1/users/${userId.toUpperCase()}`, {
      key,
      body: { deletionQuestionnaire: { reasons: ['no'] } },
    });
    expect([again.status, again.body]).toEqual([
      202,
      { deletionJobId: deletionJob.databaseId, deletionQueued: true, id: userId },
    ]);
    const viaGlobalId = await mutate<Deletion>(
      withDelay,
      key,
      'deleteUser',
      { userId: Buffer.from(`User:${userId}`).toString('base64') },
      JOB,
    );
    expect(viaGlobalId.deletionJob).toEqual(deletionJob);
    expect(await jobsOf(userId)).toEqual([{ id: deletionJob.databaseId, state: 'queued', error: null, questionnaire }]);
  });

  test('of 20 concurrent requests over both APIs, one creates the job, and all return it', async () => {
    const { key, userId } = await withDelay.createKey();
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        index % 2 === 0
          ? (await withDelay.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${userId}`, { key })).body
              .deletionJobId
          : (await mutate<Deletion>(withDelay, key, 'deleteUser', { userId }, JOB)).deletionJob.databaseId,
      ),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await jobsOf(userId)).toHaveLength(1);
    expect(await rows(`select 1 from pgboss.job where data ->> 'deletionJobId' = any($1)`, ids)).toHaveLength(1);
  });

  sampled(test, 4).each([
    [{ reason: 'x' }, 'reason: is not a known property'],
    [{ deletionQuestionnaire: { extra: 1 } }, 'deletionQuestionnaire.extra: is not a known property'],
    [{ deletionQuestionnaire: 'bored' }, 'deletionQuestionnaire: must be an object'],
    [
      { deletionQuestionnaire: { reasons: Array.from({ length: 21 }, () => 'x') } },
      'deletionQuestionnaire.reasons: must have at most 20 items',
    ],
    [{ deletionQuestionnaire: { reasons: [''] } }, 'deletionQuestionnaire.reasons.0: must not be empty'],
    [
      { deletionQuestionnaire: { reasons: ['x'.repeat(201)] } },
      'deletionQuestionnaire.reasons.0: must be at most 200 characters',
    ],
    [
      { deletionQuestionnaire: { submittedAt: 'yesterday' } },
      'deletionQuestionnaire.submittedAt: must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z',
    ],
    [{ deletionQuestionnaire: { otherReason: '' } }, 'deletionQuestionnaire.otherReason: must not be empty'],
    [
      { deletionQuestionnaire: { otherReason: 'x'.repeat(2001) } },
      'deletionQuestionnaire.otherReason: must be at most 2000 characters',
    ],
    [{ userId: 'me' }, 'userId: is not a known property'],
    [[], 'the body must be a JSON object'],
    [null, 'the body must be a JSON object'],
    ['{', 'the body is not well-formed JSON'],
  ])('400 for the body %j', async (body, error) => {
    const { key, userId } = await gateway.createKey();
    const answer = await remove(key, userId, body === null ? 'null' : body);
    expect([answer.status, answer.body]).toEqual([400, { error }]);
    expect(await jobsOf(userId)).toEqual([]);
  });

  test('values of the maximum length are accepted, and another media type is 415', async () => {
    const { key, userId } = await withDelay.createKey();
    const full = {
      reasons: Array.from({ length: 20 }, () => 'x'.repeat(200)),
      submittedAt: '2026-03-01T10:20:30+02:00',
      otherReason: 'x'.repeat(2000),
    };
    expect(
      (await withDelay.rest('DELETE', `/v1/users/${userId}`, { key, body: { deletionQuestionnaire: full } })).status,
    ).toBe(202);
    expect((await jobsOf(userId))[0]?.questionnaire).toEqual(full);
    expect(
      (
        await withDelay.rest('DELETE', `/v1/users/${userId}`, {
          key,
          body: '{}',
          headers: { 'Content-Type': 'text/plain' },
        })
      ).status,
    ).toBe(415);
  });

  test('403 on both APIs for every id except that of the caller, existing or not; 400 for more than 255 characters', async () => {
    const { key, userId } = await gateway.createKey();
    const other = await gateway.createKey();
    const forbidden = { error: 'you can delete only your own account' };
    for (const id of [other.userId, randomUUID(), 'x', 'x'.repeat(255), '%F0%9F%98%80', `${userId}x`]) {
      const answer = await remove(key, id);
      expect([answer.status, answer.body]).toEqual([403, forbidden]);
    }
    const long = await remove(key, 'x'.repeat(256));
    expect([long.status, long.body]).toEqual([400, { error: 'userId: must be at most 255 characters' }]);
    expect(await mutate(gateway, key, 'deleteUser', { userId: other.userId })).toEqual({
      __typename: 'ForbiddenError',
      message: forbidden.error,
      code: 'FORBIDDEN',
      path: null,
    });
    expect(await mutate(gateway, key, 'deleteUser', { userId: 'x'.repeat(256) })).toMatchObject({
      __typename: 'ValidationError',
      path: ['userId'],
    });
    expect(await rows('select 1 from deletion_job where user_id = any($1)', [userId, other.userId])).toEqual([]);
  });

  test('403 without the scope users.delete, 401 without a key', async () => {
    const { key, userId } = await gateway.createKey({ scopes: ['sessions.read'] });
    const refused = {
      error: 'the API key lacks the scope users.delete',
      details: { missing: { scopes: [['users.delete']] } },
    };
    const answer = await remove(key, userId);
    expect([answer.status, answer.body]).toEqual([403, refused]);
    expect(await mutate(gateway, key, 'deleteUser', { userId })).toMatchObject({
      __typename: 'ForbiddenError',
      message: refused.error,
    });
    expect(await mutate(gateway, key, 'cancelUserDeletion', { deletionJobId: randomUUID() })).toMatchObject({
      __typename: 'ForbiddenError',
    });
    expect(
      (await gateway.graphql(key, `{ deletionJob(id: "${randomUUID()}") { state } }`)).errors?.[0]?.extensions?.[
        'code'
      ],
    ).toBe('FORBIDDEN');
    expect((await gateway.rest('DELETE', `/v1/users/${userId}`)).status).toBe(401);
  });
});

describe('the only admin', () => {
  test('of an organization with other members gets 409 on both APIs with its name, until another member is admin', async () => {
    const admin = await withDelay.createKey();
    const member = await withDelay.createKey({ organization: admin.organization });
    const error = `the user is the only administrator of an organization that has other members: ${admin.organization} (${admin.organizationId}); make another member an administrator first`;
    const answer = await withDelay.rest('DELETE', `/v1/users/${admin.userId}`, { key: admin.key });
    expect([answer.status, answer.body]).toEqual([409, { error }]);
    expect(await mutate(withDelay, admin.key, 'deleteUser', { userId: admin.userId })).toEqual({
      __typename: 'ConflictError',
      message: error,
      code: 'CONFLICT',
      path: null,
    });
    expect(await jobsOf(admin.userId)).toEqual([]);
    expect((await withDelay.rest('DELETE', `/v1/users/${member.userId}`, { key: member.key })).status).toBe(202);
    await mutate(withDelay, admin.key, 'changeOrganizationMemberRole', { userId: member.userId, role: 'ADMIN' });
    expect((await withDelay.rest('DELETE', `/v1/users/${admin.userId}`, { key: admin.key })).status).toBe(202);
  });

  test('of an organization that others have created is not held by it: the longest member becomes admin', async () => {
    const attacker = await withDelay.createKey();
    const { organization, organizationId } = attacker;
    const victim = await withDelay.createKey({ organization, role: 'admin' });
    const longest = await withDelay.createKey({ organization });
    await withDelay.createKey({ organization });
    await mutate(withDelay, victim.key, 'changeOrganizationMemberRole', { userId: attacker.userId, role: 'MEMBER' });
    await rows(
      "update membership set created_at = created_at - interval '1 day' where organization_id = $1 and user_id = $2",
      organizationId,
      longest.userId,
    );
    expect((await remove(victim.key, victim.userId)).status).toBe(202);
    await runJobs(gateway);
    expect((await jobsOf(victim.userId)).map(({ state }) => state)).toEqual(['done']);
    expect(
      await rows("select user_id from membership where organization_id = $1 and role = 'admin'", organizationId),
    ).toEqual([{ user_id: longest.userId }]);
    expect(
      await rows(
        "select target_id from audit_entry where organization_id = $1 and operation = 'changeOrganizationMemberRole' and source = 'job'",
        organizationId,
      ),
    ).toEqual([{ target_id: longest.userId }]);
  });

  test('is checked again when the job begins: the deletion fails and changes nothing if the other admin has been demoted', async () => {
    const first = await gateway.createKey();
    const second = await gateway.createKey({ organization: first.organization, role: 'admin' });
    await gateway.createKey({ organization: first.organization });
    const stays = first;
    expect((await remove(first.key, first.userId)).status).toBe(202);
    await mutate(gateway, first.key, 'changeOrganizationMemberRole', { userId: second.userId, role: 'MEMBER' });
    await runJobs(gateway);
    expect((await jobsOf(first.userId)).map(({ state }) => state)).toEqual(['failed']);
    const { data } = await gateway.graphql(
      stays.key,
      `{ viewer { user { email } role } deletionJob(id: "${(await jobsOf(stays.userId))[0]?.id}") { state finishedAt startedAt error } }`,
    );
    expect(data).toEqual({
      viewer: { user: { email: stays.email }, role: 'ADMIN' },
      deletionJob: {
        state: 'FAILED',
        startedAt: null,
        finishedAt: TIME,
        error: expect.stringContaining(first.organizationId),
      },
    });
    // A failed deletion does not prevent another one.
    await mutate(gateway, stays.key, 'changeOrganizationMemberRole', {
      userId: second.userId,
      role: 'ADMIN',
    });
    expect((await remove(stays.key, stays.userId)).status).toBe(202);
    await runJobs(gateway);
    expect((await jobsOf(stays.userId)).map(({ state }) => state).toSorted()).toEqual(['done', 'failed']);
  });
});

describe('the job', () => {
  const show = async (key: string, id: string) =>
    (
      await withDelay.graphql<{ deletionJob: object | null }>(
        key,
        `{ deletionJob(id: "${id}") { state runAfter finishedAt } }`,
      )
    ).data?.deletionJob;

  test('can be read by both ids only by its user; for others it does not exist', async () => {
    const { key, userId, organization } = await withDelay.createKey();
    const colleague = await withDelay.createKey({ organization, role: 'admin' });
    const { deletionJob } = await mutate<Deletion>(withDelay, key, 'deleteUser', { userId }, JOB);
    for (const id of [deletionJob.id, deletionJob.databaseId]) {
      expect(await show(key, id)).toMatchObject({ state: 'QUEUED' });
      expect(await show(colleague.key, id)).toBeNull();
      const refused = await mutate(withDelay, colleague.key, 'cancelUserDeletion', { deletionJobId: id });
      expect(refused).toEqual(
        await mutate(withDelay, colleague.key, 'cancelUserDeletion', { deletionJobId: randomUUID() }),
      );
      expect(refused).toEqual({
        __typename: 'NotFoundError',
        message: 'deletion job not found',
        code: 'NOT_FOUND',
        path: null,
      });
    }
    expect(await show(key, randomUUID())).toBeNull();
    expect(await show(key, 'x')).toBeNull();
    const node = `{ node(id: "${deletionJob.id}") { __typename } }`;
    expect((await withDelay.graphql(key, node)).data).toEqual({ node: { __typename: 'DeletionJob' } });
    expect((await withDelay.graphql(colleague.key, node)).data).toEqual({ node: null });
  });

  test('waits for USER_DELETION_DELAY, can be canceled until then, and can be requested again', async () => {
    const { key, userId } = await withDelay.createKey();
    const first = (await mutate<Deletion>(withDelay, key, 'deleteUser', { userId }, JOB)).deletionJob;
    await runJobs(withDelay);
    expect(await show(key, first.id)).toMatchObject({ state: 'QUEUED' });
    const cancelled = await mutate<Deletion>(withDelay, key, 'cancelUserDeletion', { deletionJobId: first.id }, JOB);
    expect(cancelled.deletionJob).toEqual({ ...first, state: 'CANCELLED', finishedAt: TIME });
    expect(await queuedJobs(first.databaseId)).toEqual([{ state: 'cancelled' }]);
    expect(await mutate(withDelay, key, 'cancelUserDeletion', { deletionJobId: first.id })).toEqual({
      __typename: 'ConflictError',
      message: 'the deletion is cancelled; it can be canceled only while it is queued',
      code: 'CONFLICT',
      path: null,
    });
    const second = (await mutate<Deletion>(withDelay, key, 'deleteUser', { userId }, JOB)).deletionJob;
    expect(second.id).not.toBe(first.id);
    // Ends the delay of one hour.
    await rows(`update pgboss.job set start_after = now() where id = any($1)`, [first.databaseId, second.databaseId]);
    await runJobs(withDelay);
    expect((await jobsOf(userId)).map(({ state }) => state).toSorted()).toEqual(['cancelled', 'done']);
    expect((await withDelay.rest('DELETE', `/v1/users/${userId}`, { key })).status).toBe(401);
  });

  test.each([
    ['canceled', 'canceled before it is started at the same time', 'CancelUserDeletionPayload'],
    ['completed', 'started before it is canceled at the same time', 'ConflictError'],
  ] as const)('is %s if it is %s', async (end, _, expected) => {
    const { key, userId } = await gateway.createKey();
    const id = (await mutate<Deletion>(gateway, key, 'deleteUser', { userId }, JOB)).deletionJob.databaseId;
    const cancel = () => mutate(gateway, key, 'cancelUserDeletion', { deletionJobId: id });
    const isCanceled = end === 'canceled';
    const row = 'select 1 from deletion_job where id = ? for update';
    const answers = await whileLocked(gateway, row, [id], async (release) => {
      // PostgreSQL gives the lock to those that wait in their order.
      const first: Promise<unknown> = isCanceled ? cancel() : runJobs(gateway);
      await untilWaitingForLock(gateway, 1);
      const second: Promise<unknown> = isCanceled ? runJobs(gateway) : cancel();
      await untilWaitingForLock(gateway, 2);
      await release();
      return Promise.all([first, second]);
    });
    expect(answers[isCanceled ? 0 : 1]).toMatchObject({ __typename: expected });
    expect(await jobsOf(userId)).toMatchObject([{ state: isCanceled ? 'cancelled' : 'done' }]);
    expect(await rows('select 1 from user_account where id = $1', userId)).toHaveLength(isCanceled ? 1 : 0);
    const { status } = await gateway.rest('GET', '/v1/organizations', { key });
    expect(status).toBe(isCanceled ? 200 : 401);
  });
});
