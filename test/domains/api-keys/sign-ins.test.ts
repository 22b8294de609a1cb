import { beforeAll, describe, expect, test } from 'vitest';
import { toGlobalId } from '../../../src/core/graphql/global-ids.ts';
import { CookieJar } from '../../support/fixtures/company-sign-in.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

/** Sign-ins of browsers as API keys: nobody but their person sees or ends them. */

const gateway = useTestGateway();
const EMAIL = 'member@example.com';
const SLUG = 'company';

let keys: Record<'admin' | 'other' | 'own' | 'elsewhere' | 'ofAdministrator', string>;
let adminKeyId: string;
beforeAll(async () => {
  const admin = await gateway.createKey({ organization: SLUG, email: 'admin@example.com', role: 'admin' });
  const other = await gateway.createKey({ organization: SLUG, email: 'other@example.com', role: 'member' });
  const own = await gateway.createKey({ organization: SLUG, email: EMAIL, role: 'member' });
  const elsewhere = await gateway.createKey({ email: EMAIL });
  adminKeyId = admin.keyId;
  keys = { admin: admin.key, other: other.key, own: own.key, elsewhere: elsewhere.key, ofAdministrator: admin.key };
});

/** Signs a browser in with a key of the organization. @returns the id of the sign-in. */
async function signIn(key = keys.own): Promise<string> {
  const jar = new CookieJar(gateway);
  await jar.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
  const { signIns } = await jar.viewer<{ signIns: { nodes: { databaseId: string }[] } }>(
    'signIns(first: 1) { nodes { databaseId } }',
  );
  return signIns.nodes[0]?.databaseId ?? '';
}

/** What a caller sees of a credential, on every way to read it by id. */
async function seenBy(key: string, id: string) {
  const query = `{ node(id: "${toGlobalId('ApiKey', id)}") { id } apiKey(id: "${id}") { kind }
    viewer { apiKeys(first: 50, filter: { includeRevoked: true }) { nodes { databaseId } }
      signIns(first: 50, filter: { includeRevoked: true }) { nodes { databaseId } } } }`;
  interface Ids {
    readonly nodes: readonly { readonly databaseId: string }[];
  }
  interface Seen {
    readonly node: object | null;
    readonly apiKey: object | null;
    readonly viewer: { readonly apiKeys: Ids; readonly signIns: Ids };
  }
  const { data } = await gateway.graphql<Seen>(key, query);
  if (!data) throw new Error('no data');
  const { body } = await gateway.rest<{ items: { id: string }[] }>(
    'GET',
    '/v1/api-keys?includeRevoked=true&limit=100',
    {
      key,
    },
  );
  const isIn = ({ nodes }: Ids) => nodes.some(({ databaseId }) => databaseId === id);
  return {
    byId: [data.node !== null, data.apiKey !== null],
    lists: { apiKeys: isIn(data.viewer.apiKeys), rest: body.items.some((item) => item.id === id) },
    signIns: isIn(data.viewer.signIns),
  };
}
const UNSEEN = { byId: [false, false], lists: { apiKeys: false, rest: false }, signIns: false };

const mutate = async (key: string, text: string) => {
  const { data } = await gateway.graphql<Record<string, { __typename: string }>>(
    key,
    `mutation { ${text} { __typename } }`,
  );
  return Object.values(data ?? {})[0]?.__typename;
};

describe('the sign-in with a key of an organization', () => {
  test('is seen by its person only, not by administrators and other members, nor with a key of another organization', async () => {
    const id = await signIn();
    expect(await seenBy(keys.own, id)).toEqual({
      byId: [true, true],
      lists: { apiKeys: false, rest: false },
      signIns: true,
    });
    for (const key of [keys.admin, keys.other, keys.elsewhere]) expect(await seenBy(key, id)).toEqual(UNSEEN);
  });

  test('of an administrator is seen by no other administrator', async () => {
    const { key: second } = await gateway.createKey({ organization: SLUG, role: 'admin' });
    const id = await signIn(keys.ofAdministrator);
    expect(await seenBy(second, id)).toEqual(UNSEEN);
    expect((await seenBy(keys.admin, id)).signIns).toBe(true);
  });

  test('is ended and renamed by nobody else, on both APIs; its person ends it, and renames it not', async () => {
    const id = await signIn();
    const [revoke, rename] = [
      `revokeApiKey(input: { apiKeyId: "${id}" })`,
      `renameApiKey(input: { apiKeyId: "${id}", name: "x" })`,
    ];
    for (const key of [keys.admin, keys.other, keys.elsewhere]) {
      expect([await mutate(key, revoke), await mutate(key, rename)]).toEqual(['NotFoundError', 'NotFoundError']);
      expect((await gateway.rest('DELETE', `/v1/api-keys/${id}`, { key })).status).toBe(404);
    }
    expect(await mutate(keys.own, rename)).toBe('NotFoundError');
    expect((await gateway.rest('DELETE', `/v1/api-keys/${id}`, { key: keys.own })).status).toBe(200);
    expect(await mutate(keys.own, revoke)).toBe('NotFoundError');
  });

  test('cannot be found in the audit log by administrators, who see what was done with it, and by whom', async () => {
    const jar = new CookieJar(gateway);
    await jar.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key: keys.own }) });
    await jar.open('/v1/sessions', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ title: 'From a browser' }),
    });
    const query = `{ viewer { organization { auditLog(first: 1, filter: { operations: ["createSession"] }) {
      nodes { actor { ... on User { email } } apiKey { id } } } } } }`;
    expect((await gateway.graphql(keys.admin, query)).data).toEqual({
      viewer: { organization: { auditLog: { nodes: [{ actor: { email: EMAIL }, apiKey: null }] } } },
    });
  });
});

test('administrators see and end the secret keys of members as before', async () => {
  expect((await seenBy(keys.admin, adminKeyId)).byId).toEqual([true, true]);
  const { keyId } = await gateway.createKey({ organization: SLUG, email: EMAIL });
  expect((await seenBy(keys.admin, keyId)).lists).toEqual({ apiKeys: true, rest: true });
  expect((await gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key: keys.admin })).status).toBe(200);
});
