import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/core/config.ts';
import { type Answer, type GraphQLAnswer, type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { sampled } from '../../support/sample.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const ROLE = 'query Role { viewer { role } }';
const NAME = 'query Name { viewer { organization { slug } } }';
const CREATE = 'mutation Create($name: String!) { createOrganization(input: { name: $name }) { __typename } }';
const DEEP = `{${'viewer{'.repeat(20)}role${'}'.repeat(20)}}`;
const UNLISTED = '{ viewer { user { email } } }';
const RESPONSE = 'application/graphql-response+json';

let folder: string;
let also: TestGateway;
let only: TestGateway;
let plain: TestGateway;
let key: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-documents-'));
  const documents = join(folder, 'documents');
  await mkdir(join(documents, 'inner'), { recursive: true });
  await writeFile(join(documents, 'relay.json'), JSON.stringify({ 'relay-id': ROLE, deep: DEEP }));
  const operations = [{ id: 'apollo-id', name: 'Create', type: 'mutation', body: CREATE }];
  await writeFile(
    join(documents, 'apollo.json'),
    JSON.stringify({ format: 'apollo-persisted-query-manifest', version: 1, operations }),
  );
  await writeFile(join(documents, 'inner', 'name-of-file.graphql'), NAME);
  await writeFile(join(documents, 'notes.txt'), 'no document');
  plain = await startTestGateway();
  also = await startTestGateway({ PERSISTED_OPERATIONS: documents }, { beside: plain });
  only = await startTestGateway(
    { PERSISTED_OPERATIONS: documents, PERSISTED_OPERATIONS_MODE: 'only' },
    { beside: plain },
  );
  ({ key } = await plain.createKey());
});
afterAll(async () => {
  await Promise.all([also.close(), only.close()]);
  await plain.close();
  await rm(folder, { recursive: true });
});

/** Status, data, and the code of the first error. */
function summaryOf({ status, body }: Pick<Answer<GraphQLAnswer<unknown>>, 'status' | 'body'>) {
  return { status, data: body.data ?? null, code: body.errors?.[0]?.extensions?.['code'] };
}
async function post(gateway: TestGateway, body: object) {
  return summaryOf(await gateway.rest('POST', '/graphql', { key, body, headers: { Accept: RESPONSE } }));
}
async function get(gateway: TestGateway, query: Record<string, string>) {
  const path = `/graphql?${new URLSearchParams(query)}`;
  return summaryOf(await gateway.rest('GET', path, { key, headers: { Accept: RESPONSE } }));
}
const automatic = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
const ok = (data: unknown) => ({ status: 200, data, code: undefined });
const refused = (status: number, code: string) => ({ status, data: null, code });
const role = ok({ viewer: { role: 'ADMIN' } });
const unknown = refused(404, 'PERSISTED_QUERY_NOT_FOUND');
const unknownId = refused(404, 'PERSISTED_DOCUMENT_NOT_FOUND');

describe('listed documents', () => {
  test.each(['also', 'only'] as const)(
    '%s: documents of each file format run by id and by hash, over POST and GET',
    async (mode) => {
      const gateway = { also, only }[mode];
      for (const documentId of ['relay-id', sha256(ROLE), `sha256:${sha256(ROLE)}`]) {
        expect(await post(gateway, { documentId })).toEqual(role);
        expect(await get(gateway, { documentId })).toEqual(role);
      }
      expect(await post(gateway, { extensions: automatic(sha256(ROLE)) })).toEqual(role);
      expect(await get(gateway, { extensions: JSON.stringify(automatic(sha256(ROLE))) })).toEqual(role);
      expect((await post(gateway, { documentId: 'name-of-file' })).status).toBe(200);
      expect(await post(gateway, { documentId: 'apollo-id', variables: { name: 'Listed' } })).toEqual(
        ok({ createOrganization: { __typename: 'CreateOrganizationPayload' } }),
      );
    },
  );

  test('only: every text that is not listed is refused; a listed one may be sent as text', async () => {
    for (const query of [UNLISTED, `${ROLE} `, '{', DEEP.repeat(2), '{__schema{description}}']) {
      expect(await post(only, { query })).toEqual(refused(403, 'DOCUMENT_NOT_TRUSTED'));
      expect(await get(only, { query })).toEqual(refused(403, 'DOCUMENT_NOT_TRUSTED'));
      expect(await post(only, { query, extensions: automatic(sha256(query)) })).toEqual(
        refused(403, 'DOCUMENT_NOT_TRUSTED'),
      );
      expect(await post(only, { extensions: automatic(sha256(query)) })).toEqual(unknown);
    }
    expect(await post(only, { query: ROLE })).toEqual(role);
    expect((await post(also, { query: UNLISTED })).status).toBe(200);
  });

  test('have the same rules as other documents: too deep is 400, a mutation over GET is 405, no key is 401', async () => {
    expect(await post(also, { documentId: 'deep' })).toEqual(refused(400, 'TOO_DEEP'));
    expect(await get(also, { documentId: 'deep' })).toEqual(refused(400, 'TOO_DEEP'));
    expect((await get(only, { documentId: 'apollo-id', variables: '{"name":"No"}' })).status).toBe(405);
    const anonymous = await only.rest<GraphQLAnswer>('POST', '/graphql', { body: { documentId: 'relay-id' } });
    expect(summaryOf(anonymous)).toEqual(refused(401, 'UNAUTHENTICATED'));
  });
});

describe('automatic persisted queries', () => {
  test('a hash is unknown until the document is sent with it; then each process that received the document knows it', async () => {
    const query = `query Automatic { viewer { role } }`;
    const extensions = automatic(sha256(query));
    expect(await post(plain, { extensions })).toEqual(unknown);
    expect(await post(plain, { documentId: `sha256:${sha256(query)}` })).toEqual(unknownId);
    // Sent once for each of up to two processes, because each must receive it.
    for (let process = 0; process < 2; process += 1) expect(await post(plain, { query, extensions })).toEqual(role);
    for (let again = 0; again < 4; again += 1) {
      expect(await post(plain, { extensions })).toEqual(role);
      expect(await get(plain, { extensions: JSON.stringify(extensions) })).toEqual(role);
      expect(await post(plain, { documentId: `sha256:${sha256(query)}` })).toEqual(role);
    }
  });

  test('an unknown hash gets the message that client libraries expect, with status 200 in plain JSON', async () => {
    const { status, body } = await plain.rest<GraphQLAnswer>('POST', '/graphql', {
      key,
      body: { extensions: automatic('0'.repeat(64)) },
      headers: { Accept: 'application/json' },
    });
    expect({ status, errors: body.errors }).toEqual({
      status: 200,
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
    });
  });

  test('a hash of another text gets 400, and nothing is stored', async () => {
    const hash = sha256(`${ROLE} #other`);
    expect(await post(plain, { query: ROLE, extensions: automatic(hash) })).toEqual(refused(400, 'INVALID_INPUT'));
    expect(await post(plain, { extensions: automatic(hash) })).toEqual(unknown);
  });

  sampled(test, 3).each([
    { documentId: '' },
    { documentId: 1 },
    { documentId: 'x'.repeat(256) },
    { documentId: null },
    { extensions: { persistedQuery: { version: 2, sha256Hash: '0'.repeat(64) } } },
    { extensions: { persistedQuery: { version: 1, sha256Hash: '0'.repeat(63) } } },
    { extensions: { persistedQuery: { version: 1, sha256Hash: 'A'.repeat(64) } } },
    { extensions: { persistedQuery: 'x' } },
    { extensions: { persistedQuery: [] } },
  ])('400: %j', async (body) => {
    expect(await post(plain, body)).toEqual(refused(400, 'INVALID_INPUT'));
  });

  test('names of properties that every JavaScript object has are unknown documents', async () => {
    for (const documentId of ['__proto__', 'constructor', 'toString'])
      expect(await post(also, { documentId })).toEqual(unknownId);
  });
});

describe('the gateway does not start with unusable PERSISTED_OPERATIONS', () => {
  sampled(test, 3).each([
    ['missing.json', undefined, 'ENOENT'],
    ['broken.json', '{', 'is not well-formed JSON'],
    ['other.json', '{"a":1}', 'must be a file of Relay'],
    ['version.json', '{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}', 'must be a file'],
    ['empty.json', '{}', 'there are no documents'],
    ['twice.json', JSON.stringify({ [sha256(ROLE)]: NAME, a: ROLE }), 'two documents have the id'],
  ])('%s', async (name, content, message) => {
    const path = join(folder, name);
    if (content !== undefined) await writeFile(path, content);
    await expect(startTestGateway({ PERSISTED_OPERATIONS: path }, { beside: plain })).rejects.toThrow(
      new RegExp(`^PERSISTED_OPERATIONS: .*${message}`),
    );
  });

  test('or with the mode `only` and without documents', () => {
    expect(() => readConfig({ PERSISTED_OPERATIONS_MODE: 'only' })).toThrow(
      'PERSISTED_OPERATIONS: is required with PERSISTED_OPERATIONS_MODE=only',
    );
    expect(() => readConfig({ PERSISTED_OPERATIONS_MODE: 'never' })).toThrow(
      'PERSISTED_OPERATIONS_MODE: must be also or only',
    );
  });
});
