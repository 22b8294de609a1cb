import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { operationManifests } from '../../../src/domains/operation-manifests/module.ts';
import {
  type Answer,
  type GraphQLAnswer,
  type TestGateway,
  startTestGateway,
  useOwnGateway,
} from '../../support/fixtures/gateway.ts';
import { startServedGateway } from '../../support/fixtures/served-gateway.ts';
import { connectSocket } from '../../support/fixtures/websockets.ts';
import { sampled } from '../../support/sample.ts';
import { temporaryFolder } from '../../support/fixtures/temporary-folder.ts';

const DAY_MS = 86_400_000;
const ROLE = 'query Role { viewer { role } }';
const SLUG = 'query Slug { viewer { organization { slug } } }';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const apollo = (...bodies: [id: string, body: string][]) =>
  bodies.map(([id, body]) => ({ id, name: id, type: 'query', body }));

const gateway = useOwnGateway();
let other: TestGateway;
let admin: Awaited<ReturnType<TestGateway['createKey']>>;
beforeAll(async () => {
  other = await startTestGateway({}, { beside: gateway });
});
afterAll(() => other.close());
beforeEach(async () => {
  gateway.setClock(undefined);
  admin = await gateway.createKey();
});

const publish = (body: object, { key } = admin, at = gateway) =>
  at.rest<Record<string, unknown>>('POST', '/v1/operation-manifests', { key, body });

const NAMED = { 'GraphQL-Client-Name': 'web', 'GraphQL-Client-Version': '1.4.0' };

const HEADERS: readonly Record<string, string>[] = [{}, NAMED, { 'apollographql-client-name': 'web' }];

async function run(body: object, headers: Record<string, string> = {}, { key } = admin, at = gateway) {
  const answer = await at.rest<GraphQLAnswer<unknown>>('POST', '/graphql', { key, body, headers });
  return summaryOf(answer);
}
function summaryOf({ status, body }: Answer<GraphQLAnswer<unknown>>) {
  const [error] = body.errors ?? [];
  return error ? { status, code: error.extensions?.['code'], message: error.message } : { status, data: body.data };
}
const RAN = { status: 200, data: { viewer: { role: 'ADMIN' } } };

test.each([
  ["Relay's texts by id", { 'role-id': ROLE, slug: SLUG }],
  ["Apollo's list", apollo(['role-id', ROLE], ['slug', SLUG])],
  [
    "Apollo's manifest",
    { format: 'apollo-persisted-query-manifest', version: 1, operations: apollo(['role-id', ROLE], ['slug', SLUG]) },
  ],
])(
  '%s: each document runs by its id and by its SHA-256 at once, over POST and GET, in every process',
  async (_, operations) => {
    const { status, body } = await publish({ client: 'web', version: '1.4.0', operations });
    const at = expect.stringMatching(/^\d{4}-.*Z$/);
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        id: expect.any(String),
        client: 'web',
        version: '1.4.0',
        operationCount: 2,
        publishedAt: at,
        lastUsedAt: at,
        expiresAt: at,
        warnings: [],
      },
    });
    for (const process of [other, gateway])
      for (const documentId of ['role-id', sha256(ROLE), `sha256:${sha256(ROLE)}`])
        for (const headers of HEADERS) expect(await run({ documentId }, headers, admin, process)).toEqual(RAN);
    const extensions = { persistedQuery: { version: 1, sha256Hash: sha256(SLUG) } };
    const { status: found } = await run({ extensions });
    expect(found).toBe(200);
    const path = `/graphql?${new URLSearchParams({ documentId: 'role-id' })}`;
    expect(summaryOf(await other.rest('GET', path, { key: admin.key }))).toEqual(RAN);
  },
);

test('an unknown id is PERSISTED_DOCUMENT_NOT_FOUND, naming the client and the version; so is one of another client, version or organization', async () => {
  await publish({ client: 'web', version: '1.4.0', operations: { 'role-id': ROLE } });
  const notFound = (message: string) => ({
    status: 404,
    code: 'PERSISTED_DOCUMENT_NOT_FOUND',
    message: `${message} Administrators publish documents with POST /v1/operation-manifests.`,
  });
  const accept = { Accept: 'application/graphql-response+json' };
  const unknown = notFound('No document with the id nothing is published for the client web, version 1.4.0.');
  expect(await run({ documentId: 'nothing' }, { ...accept, ...NAMED })).toEqual(unknown);
  const answer = await gateway.rest<GraphQLAnswer<unknown>>('POST', '/graphql', {
    key: admin.key,
    body: { documentId: 'role-id' },
    headers: { ...accept, ...NAMED, 'GraphQL-Client-Version': '1.5.0' },
  });
  expect(answer.body.errors?.[0]?.extensions).toMatchObject({
    code: 'PERSISTED_DOCUMENT_NOT_FOUND',
    client: 'web',
    version: '1.5.0',
  });
  expect(await run({ documentId: 'role-id' }, { ...accept, 'GraphQL-Client-Name': 'ios' })).toEqual(
    notFound('No document with the id role-id is published for the client ios, version (not named).'),
  );
  const stranger = await gateway.createKey();
  expect(await run({ documentId: 'role-id' }, accept, stranger)).toEqual(
    notFound(
      'No document with the id role-id is published for any client; the request names none (headers GraphQL-Client-Name and GraphQL-Client-Version).',
    ),
  );
});

test('two clients can have an id for different documents: each gets its own', async () => {
  await publish({ client: 'web', version: '1', operations: { page: ROLE } });
  await publish({ client: 'ios', version: '1', operations: { page: SLUG } });
  const asked = (name: string) => run({ documentId: 'page' }, { 'graphql-client-name': name });
  expect(await asked('web')).toEqual(RAN);
  expect(await asked('ios')).toEqual({ status: 200, data: { viewer: { organization: { slug: admin.organization } } } });
});

test('a request that leaves out the client or the version gets the newest document at once, in every process; one that names both gets its own', async () => {
  const begun = Date.now();
  const slug = { status: 200, data: { viewer: { organization: { slug: admin.organization } } } };
  const partly: readonly Record<string, string>[] = [{}, { 'GraphQL-Client-Name': 'web' }];
  const exactly = { 'GraphQL-Client-Name': 'web', 'GraphQL-Client-Version': '1' };
  const versions = [ROLE, SLUG, ROLE];
  for (const [index, document] of versions.entries()) {
    for (const process of [gateway, other]) process.setClock(new Date(begun + index * 1000));
    await publish({ client: 'web', version: String(index + 1), operations: { list: document } });
    for (const process of [gateway, other]) {
      for (const headers of partly)
        expect(await run({ documentId: 'list' }, headers, admin, process)).toEqual(document === ROLE ? RAN : slug);
      expect(await run({ documentId: 'list' }, exactly, admin, process)).toEqual(RAN);
    }
  }
  await publish({ client: 'ios', version: '9', operations: { list: SLUG } });
  expect(await run({ documentId: 'list' }, { 'GraphQL-Client-Name': 'web' })).toEqual(RAN);
  const before = gateway.statements.filter((statement) => statement.includes('published_document')).length;
  expect(await run({ documentId: 'list' }, exactly)).toEqual(RAN);
  expect(gateway.statements.filter((statement) => statement.includes('published_document'))).toHaveLength(before);
  other.setClock(undefined);
});

test('a repeated publication adds documents; another document under a published id is 409, and changes nothing', async () => {
  const first = await publish({ client: 'web', version: '1', operations: { a: ROLE } });
  const again = await publish({ client: 'web', version: '1', operations: { a: ROLE, b: SLUG } });
  expect([again.status, again.body['id'], again.body['operationCount']]).toEqual([201, first.body['id'], 2]);
  const conflict = await publish({ client: 'web', version: '1', operations: { c: SLUG, a: SLUG } });
  expect({ status: conflict.status, body: conflict.body }).toEqual({
    status: 409,
    body: {
      error: 'operations.a: is published with another document for this client and version; publish another version',
    },
  });
  expect((await run({ documentId: 'c' })).status).toBe(404);
  expect(await run({ documentId: 'a' })).toEqual(RAN);
});

sampled(test, 4).each([
  ['client', { client: '', version: '1', operations: { a: ROLE } }, 'client: must not be empty'],
  ['version', { client: 'a', operations: { a: ROLE } }, 'version: is required'],
  ['no operations', { client: 'a', version: '1' }, 'operations: '],
  ['text', { client: 'a', version: '1', operations: 'x' }, 'operations: must be texts by id'],
  ['empty', { client: 'a', version: '1', operations: {} }, 'operations: must have at least 1 operation'],
  [
    'no text',
    { client: 'a', version: '1', operations: { a: 1 } },
    'operations.a: must be the text of a GraphQL document',
  ],
  [
    'no id',
    { client: 'a', version: '1', operations: [{ body: ROLE }] },
    'operations.0: must have an id of 1 to 255 characters',
  ],
  [
    'other',
    {
      client: 'a',
      version: '1',
      operations: { format: 'apollo-persisted-query-manifest', version: 2, operations: [] },
    },
    "operations: must be version 1 of Apollo's manifest",
  ],
  [
    'twice',
    { client: 'a', version: '1', operations: apollo(['a', ROLE], ['a', SLUG]) },
    'operations.1: has the id a of another document',
  ],
  [
    'long',
    { client: 'a', version: '1', operations: { a: 'x'.repeat(65_537) } },
    'operations.a: must have at most 65536 bytes',
  ],
  [
    'many',
    {
      client: 'a',
      version: '1',
      operations: Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`o${index}`, ROLE])),
    },
    'operations: must have at most 2000 operations',
  ],
  ['more', { client: 'a', version: '1', operations: { a: ROLE }, more: 1 }, 'more: is not a known property'],
])('400: %s', async (_, body, message) => {
  const answer = await publish(body);
  expect([answer.status, answer.body['error']]).toEqual([400, expect.stringContaining(message)]);
});

test('2,000 documents can be published, and each is found', async () => {
  const operations = Object.fromEntries(
    Array.from({ length: 2000 }, (_, index) => [`o${index}`, `${ROLE} # ${index}`]),
  );
  expect((await publish({ client: 'web', version: '1', operations })).body['operationCount']).toBe(2000);
  for (const documentId of ['o0', 'o1999']) expect(await run({ documentId })).toEqual(RAN);
  const more = await publish({ client: 'web', version: '1', operations: { more: SLUG } });
  expect([more.status, more.body['error']]).toEqual([409, 'a manifest has at most 2000 operations']);
});

test('only administrators with the scope organizations.write publish; the publication is in the audit log', async () => {
  const body = { client: 'web', version: '1.4.0', operations: { a: ROLE } };
  const member = await gateway.createKey({ organization: admin.organization });
  const bare = await gateway.createKey({ organization: admin.organization, role: 'admin', scopes: ['sessions.read'] });
  for (const caller of [member, bare]) expect((await publish(body, caller)).status).toBe(403);
  expect((await publish(body, { ...admin, key: 'wgk_nothing' })).status).toBe(401);
  const { id } = (await publish(body)).body;
  const { data } = await gateway.graphql(
    admin.key,
    '{ viewer { organization { auditLog(first: 1, filter: { operations: ["publishOperationManifest"], isRefused: false }) { nodes { operation targetType targetId } } } } }',
  );
  expect(data).toEqual({
    viewer: {
      organization: {
        auditLog: {
          nodes: [
            {
              operation: 'publishOperationManifest',
              targetType: 'OperationManifest',
              targetId: btoa(`OperationManifest:${String(id)}`),
            },
          ],
        },
      },
    },
  });
});

test('a manifest is kept for 90 days after its last use, in whichever process that was', async () => {
  const start = Date.now();
  const clean = async (days: number) => {
    const at = new Date(start + days * DAY_MS);
    return operationManifests.cleanups['operation manifests'](gateway.dependencies.database.em.fork(), at);
  };
  await gateway.dependencies.sql.query('delete from operation_manifest', []);
  for (const version of ['used', 'unused'])
    await publish({ client: 'web', version, operations: { [version]: `${ROLE} # ${version}` } });
  // Known to the process from the first day, so that the later use comes from its cache.
  expect(await run({ documentId: 'used' })).toEqual(RAN);
  gateway.setClock(new Date(start + 80 * DAY_MS));
  expect(await run({ documentId: 'used' })).toEqual(RAN);
  expect(await clean(89)).toBe(0);
  expect(await clean(91)).toBe(1);
  gateway.setClock(new Date(start + 91 * DAY_MS));
  expect((await run({ documentId: 'unused' })).status).toBe(404);
  expect(await run({ documentId: 'used' })).toEqual(RAN);
  expect(await clean(171)).toBe(0);
  expect(await clean(182)).toBe(1);
  expect(await gateway.dependencies.sql.query('select 1 from published_document', [])).toEqual([]);
});

test('where only trusted documents run, published ones do, by id and as text', async () => {
  const file = join(await temporaryFolder(), 'listed.graphql');
  await writeFile(file, '{ __typename }');
  const only = await startTestGateway(
    { PERSISTED_OPERATIONS: file, PERSISTED_OPERATIONS_MODE: 'only' },
    { beside: gateway },
  );
  try {
    const refused = { status: 403, code: 'DOCUMENT_NOT_TRUSTED', message: expect.any(String) };
    expect(await run({ query: ROLE }, {}, admin, only)).toEqual(refused);
    await publish({ client: 'web', version: '1', operations: { a: ROLE } });
    expect(await run({ documentId: 'a' }, {}, admin, only)).toEqual(RAN);
    expect(await run({ query: ROLE }, {}, admin, only)).toEqual(RAN);
    expect(await run({ query: `${ROLE} ` }, {}, admin, only)).toEqual(refused);
    expect(await run({ query: ROLE }, {}, await gateway.createKey(), only)).toEqual(refused);
  } finally {
    await only.close();
  }
});

test('over WebSocket the client names itself in connection_init, and sends no query', async () => {
  const served = await startServedGateway();
  const caller = await served.createKey();
  await publish({ client: 'web', version: '1', operations: { a: ROLE } }, caller, served);
  const socket = await connectSocket(served.url, caller.key, { 'GraphQL-Client-Name': 'web' });
  const [result] = await socket.run({ documentId: 'a' });
  expect(result?.payload).toMatchObject({ data: { viewer: { role: 'ADMIN' } } });
  const [refused] = await socket.run({ documentId: 'b' });
  expect(refused).toMatchObject({
    type: 'error',
    payload: [{ extensions: { code: 'PERSISTED_DOCUMENT_NOT_FOUND', client: 'web', version: null } }],
  });
  socket.socket.close();
});

const OLD =
  'query Old { viewer { organization { sessions(filter: { title: "a" }) { nodes { outline { hasMore } } } } } }';
const DEAR =
  'query Dear($first: Int) { viewer { organization { sessions(first: $first) { nodes { events(first: 1000) { nodes { id } } } } } } }';

test('documents are validated first: each faulty one is named, and nothing is published', async () => {
  const operations = { good: ROLE, unknown: '{ nosuch }', broken: 'query {', deep: `{ ${'viewer { '.repeat(300)}` };
  const { status, body } = await publish({ client: 'checked', version: '1', operations });
  expect(status).toBe(400);
  for (const id of ['unknown', 'broken', 'deep']) expect(body['error']).toContain(`operations.${id}: `);
  expect(body['error']).not.toContain('operations.good');
  expect((await run({ documentId: 'good' })).status).toBe(404);
});

test('?dryRun=true only checks; a document that costs too much with the usual page sizes is a warning', async () => {
  const dry = await gateway.rest<{ warnings: string[] }>('POST', '/v1/operation-manifests?dryRun=true', {
    key: admin.key,
    body: { client: 'dry', version: '1', operations: { good: ROLE, dear: DEAR } },
  });
  expect([dry.status, dry.body.warnings.map((each) => each.split(' ')[0])]).toEqual([200, ['dear:']]);
  expect((await run({ documentId: 'good' })).status).toBe(404);
  const inBody = await publish({ client: 'dry', version: '1', operations: { good: ROLE }, dryRun: true });
  expect(inBody).toMatchObject({ status: 400, body: { error: 'dryRun: is not a known property' } });
});

test('manifests are listed with the deprecated fields of their documents, counted by client, and retired', async () => {
  await publish({ client: 'old', version: '1', operations: { old: OLD } });
  await publish({ client: 'new', version: '1', operations: { role: ROLE } });
  const list = await gateway.rest<{ items: object[]; nextCursor: null }>('GET', '/v1/operation-manifests', admin);
  const at = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(list.body).toEqual({
    items: [
      { client: 'new', version: '1', operations: 1, createdAt: at, lastUsedAt: at, deprecatedFields: [] },
      {
        client: 'old',
        version: '1',
        operations: 1,
        createdAt: at,
        lastUsedAt: at,
        deprecatedFields: ['Session.outline', 'SessionFilter.title'],
      },
    ],
    nextCursor: null,
  });
  expect((await run({ documentId: 'old' })).status).toBe(200);
  expect((await run({ query: OLD })).status).toBe(200);
  const metrics = await (await gateway.fetch('/metrics')).text();
  for (const client of ['old', 'none'])
    expect(metrics).toContain(`gateway_graphql_deprecated_fields_total{field="Session.outline",client="${client}"} 1`);
  const retire = () => gateway.rest('DELETE', '/v1/operation-manifests/old/1', admin);
  expect([(await retire()).status, (await retire()).status]).toEqual([204, 404]);
  expect(
    (await run({ documentId: 'old' }, { 'GraphQL-Client-Name': 'old', 'GraphQL-Client-Version': '1' })).status,
  ).toBe(404);
});
