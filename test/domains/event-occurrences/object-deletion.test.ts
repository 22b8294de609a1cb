import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { toGlobalId } from '../../../src/core/graphql/global-ids.ts';
import { type Input, define, register, send, stored } from '../../support/fixtures/event-occurrences.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { readOccurrencesByAllPaths } from '../../support/fixtures/read-paths.ts';
import { recordFinishes } from '../../support/fixtures/deletion-jobs.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { objectDeletionJob } from '../../../src/domains/event-occurrences/object-deletion.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** Erasing an object: its occurrences and its registered identifiers. */

const gateway = useOwnGateway();

const erase = (key: string, body: Input, headers: Record<string, string> = {}) =>
  gateway.rest<{ deletionJobId: string; error: string }>('POST', '/v1/object-occurrences/delete', {
    key,
    body,
    headers,
  });
async function erased(key: string, body: Input): Promise<string> {
  const { status, body: answer } = await erase(key, body);
  expect([status, answer]).toEqual([202, { deletionJobId: expect.any(String), deletionQueued: true }]);
  await runJobs(gateway);
  return answer.deletionJobId;
}
const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const sent = (key: string, ...inputs: Input[]) => send(gateway, 'REST', key, inputs);
/** What identifies the stored occurrences of an event. */
const left = async (key: string, name: string) =>
  (await stored(gateway, key, name)).map(({ email, utk, objectId }) => String(email ?? utk ?? objectId)).toSorted();

/** An event of contacts: Ada by each of her identifiers, of which 1815 is registered for an address and a token; and others. */
async function workspace() {
  const { key, organizationId, organization, keyId } = await gateway.createKey();
  const name = await define(gateway, key);
  const company = await define(gateway, key, { primaryObject: 'COMPANY' });
  const ids = (identifiers: Input[], propertyName: string) => ({ objectType: 'CONTACT', propertyName, identifiers });
  await register(gateway, key, ids([{ value: 'Ada@Example.com', objectId: '1815' }], 'email'));
  await register(gateway, key, ids([{ value: 'ada-token', objectId: '1815' }], 'utk'));
  await register(
    gateway,
    key,
    ids(
      [
        { value: 'badge-ada', objectId: '1815' },
        { value: 'badge-bob', objectId: '7' },
      ],
      'badge',
    ),
  );
  const occurrences = [
    { eventName: name, objectId: '1815', uuid: 'first-of-1815' },
    { eventName: name, email: 'ada@example.com', occurredAt: '2026-03-01T10:20:30.000Z' },
    { eventName: name, utk: 'ada-token' },
    { eventName: name, email: 'ada.lovelace@example.com' },
    { eventName: name, email: 'bob@example.com', uuid: 'first-of-bob' },
    { eventName: company, objectId: '1815' },
  ];
  expect(await sent(key, ...occurrences)).toBeUndefined();
  return { key, keyId, organizationId, organization, name, company };
}

test.each([
  ['objectId', { objectType: 'contact', objectId: '1815' }, '1815'],
  ['email', { email: 'ADA@example.com' }, 'ada@example.com'],
  ['utk', { utk: 'ada-token' }, 'ada-token'],
])(
  'by %s: occurrences by all registered identifiers of the contact are deleted, and no others',
  async (form, input, hashed) => {
    const { key, name, company, keyId, organizationId } = await workspace();
    const foreign = await workspace();
    const before = await rows('select 1 from monthly_occurrence_count where count > 5');
    const deletionJobId = await erased(key, input);
    expect(await left(key, name)).toEqual(['ada.lovelace@example.com', 'bob@example.com']);
    expect(await left(key, company)).toEqual(['1815']);
    expect(await left(foreign.key, foreign.name)).toHaveLength(5);
    const identifiers = 'select value from object_identifier where organization_id = $1';
    expect(await rows(identifiers, organizationId)).toEqual([{ value: 'badge-bob' }]);
    expect(await rows(identifiers, foreign.organizationId)).toHaveLength(4);
    expect(await rows('select 1 from monthly_occurrence_count where count > 5')).toEqual(before);
    const digest = createHash('sha256').update(hashed).digest('hex');
    const audited =
      'select operation, target_id, key_id, detail from audit_entry where organization_id = $1 and target_type = $2';
    expect(await rows(audited, organizationId, 'DeletionJob')).toEqual([
      {
        operation: 'deleteObjectOccurrences',
        target_id: deletionJobId,
        key_id: keyId,
        detail: `SHA-256 of ${form}: ${digest}`,
      },
    ]);
    expect(await rows('select state, object from deletion_job where id = $1', deletionJobId)).toEqual([
      { state: 'done', object: null },
    ]);
  },
);

test('no path of either API, no table and no stored answer has the identifier afterwards', async () => {
  const { key, organizationId, name } = await workspace();
  const [occurrence] = await rows<{ id: string }>(
    `select o.definition_id || ':' || (extract(epoch from o.occurred_at) * 1000)::bigint || ':' || o.id as id from event_occurrence o where o.organization_id = $1 and email = 'ada@example.com'`,
    organizationId,
  );
  const [identifier] = await rows<{ id: string }>(
    `select id from object_identifier where organization_id = $1 and property_name = 'email'`,
    organizationId,
  );
  const ids = [
    toGlobalId('EventOccurrence', occurrence?.id ?? ''),
    toGlobalId('ObjectIdentifier', identifier?.id ?? ''),
  ];
  const read = async () => {
    const answers = await readOccurrencesByAllPaths(gateway, { key, organizationId, name, ids });
    // The object of another type with the same id stays.
    const has = (path: string, answer: string) =>
      /ada@example/i.test(answer) || (path.includes(name) && answer.includes('"objectId":"1815"'));
    return [...answers].flatMap(([path, answer]) => (has(path, answer) ? [path] : []));
  };
  const mutation = `mutation($name: ID!) { updateEventDefinition(input: { eventName: $name, label: "Seen" }) { ... on UpdateEventDefinitionPayload { eventDefinition { occurrences { nodes { email } } } } } }`;
  const keyed = () => gateway.graphql(key, mutation.replace('ID!', 'String!'), { name }, { 'Idempotency-Key': 'seen' });
  expect(JSON.stringify(await keyed())).toContain('ada@example.com');
  expect(await read()).toEqual(
    expect.arrayContaining([
      `/v1/event-definitions/${name}/occurrences/export`,
      `/v1/organizations/${organizationId}/export`,
      'EventDefinition.occurrences',
      'Organization.objectIdentifiers',
      'Query.node',
      'Query.nodes',
    ]),
  );
  await erased(key, { email: 'ada@example.com' });
  expect(await read()).toEqual([]);
  expect(JSON.stringify(await keyed())).not.toContain('ada@example.com');
  const tables = await rows<{ name: string }>(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables where table_type = 'BASE TABLE' and table_schema in ('public', 'pgboss')`,
  );
  const having: string[] = [];
  for (const { name: table } of tables) {
    const found = await rows(
      `select 1 from ${table} t where t::text ~* 'ada@example|ada-token|first-of-1815|badge-ada' and t::text like $1`,
      `%${organizationId}%`,
    );
    if (found.length > 0) having.push(table);
  }
  expect(having).toEqual([]);
});

test('what is received after the request stays; the same deduplication key counts as new', async () => {
  const { key, name } = await workspace();
  expect((await erase(key, { objectType: 'CONTACT', objectId: '1815' })).status).toBe(202);
  gateway.setClock(new Date(Date.now() + 1000));
  expect(await sent(key, { eventName: name, objectId: '1815' })).toBeUndefined();
  gateway.setClock(undefined);
  await runJobs(gateway);
  expect(await left(key, name)).toEqual(['1815', 'ada.lovelace@example.com', 'bob@example.com']);
  expect(await sent(key, { eventName: name, objectId: '1815', uuid: 'first-of-1815' })).toBeUndefined();
  expect(await sent(key, { eventName: name, email: 'bob@example.com', uuid: 'first-of-bob' })).toBeUndefined();
  expect(await left(key, name)).toEqual(['1815', '1815', 'ada.lovelace@example.com', 'bob@example.com']);
});

test('400 for none or several forms; 403 for members and keys without the scope; nothing changes', async () => {
  const { key, name, organization } = await workspace();
  const refused: [Input, string][] = [
    [{}, 'objectId: give exactly one of objectId (with objectType), email and utk'],
    [{ email: 'a@example.com', utk: 'x' }, 'utk: give exactly one'],
    [{ objectId: '1' }, 'objectType: must be given with objectId'],
    [{ email: 'a@example.com', objectType: 'CONTACT' }, 'objectType: must be given with objectId'],
    [{ email: 'nobody' }, 'email: must be an e-mail address'],
    [{ objectType: 'NO_OBJECT', objectId: '1' }, 'objectType: must not be NO_OBJECT'],
    [{ utk: 'x'.repeat(256) }, 'utk: '],
  ];
  for (const [body, message] of refused) {
    const { status, text } = await erase(key, body);
    expect([body, status, text]).toEqual([body, 400, expect.stringContaining(message)]);
  }
  const member = await gateway.createKey({ organization, role: 'member' });
  const weak = await gateway.createKey({ organization, scopes: ['organizations.write'] });
  for (const caller of [member, weak])
    expect((await erase(caller.key, { objectType: 'CONTACT', objectId: '1815' })).status).toBe(403);
  await runJobs(gateway);
  expect(await left(key, name)).toHaveLength(5);
});

test('GraphQL answers the job, which the same key can follow', async () => {
  const { key, name } = await workspace();
  const job = 'id state isOfObject deletedOrganizationId';
  const mutation = `mutation { deleteObjectOccurrences(input: { email: "bob@example.com" }) { ... on DeleteObjectOccurrencesPayload { deletionJob { ${job} } } } }`;
  const { data } = await gateway.graphql<{ deleteObjectOccurrences: { deletionJob: { id: string } } }>(key, mutation);
  const queued = data?.deleteObjectOccurrences.deletionJob;
  expect(queued).toEqual({ id: expect.any(String), state: 'QUEUED', isOfObject: true, deletedOrganizationId: null });
  await runJobs(gateway);
  const scoped = await gateway.graphql(key, `{ deletionJob(id: "${queued?.id}") { ${job} } }`);
  expect(scoped.data).toEqual({ deletionJob: { ...queued, state: 'DONE' } });
  expect(await left(key, name)).toHaveLength(4);
});

test('a job that ends in the middle twice is finished once, by one of two workers', async () => {
  const { key, name, organizationId } = await workspace();
  const { deletionJobId } = (await erase(key, { email: 'ada@example.com' })).body;
  const { signal } = new AbortController();
  const context = { ...workContext(gateway.dependencies), log: gateway.dependencies.log, signal };
  const run = () => objectDeletionJob.run(context, { deletionJobId }, crypto.randomUUID());
  const countFinishes = await recordFinishes(gateway);
  await rows(
    `create function fail_for_test() returns trigger language plpgsql as $$ begin raise exception 'killed'; end $$`,
  );
  // Before the occurrences by token, after those by id and address; and then before the identifiers.
  await rows(
    `create trigger fail_for_test after delete on event_occurrence for each row when (old.utk is not null) execute function fail_for_test()`,
  );
  await expect(run()).rejects.toThrow('killed');
  expect(await left(key, name)).toEqual(['ada-token', 'ada.lovelace@example.com', 'bob@example.com']);
  await rows('drop trigger fail_for_test on event_occurrence');
  await rows(
    'create trigger fail_for_test after delete on object_identifier for each row execute function fail_for_test()',
  );
  await expect(run()).rejects.toThrow('killed');
  await rows('drop trigger fail_for_test on object_identifier');
  // Both workers have begun, and delete the same rows.
  const held = 'select 1 from object_identifier where organization_id = ? for update';
  await whileLocked(gateway, held, [organizationId], async (release) => {
    const runs = [run(), run()];
    await untilWaitingForLock(gateway, runs.length);
    await release();
    await Promise.all(runs);
  });
  expect(await countFinishes(deletionJobId)).toBe(1);
  expect(await left(key, name)).toEqual(['ada.lovelace@example.com', 'bob@example.com']);
  await runJobs(gateway);
  expect(await countFinishes(deletionJobId)).toBe(1);
});
