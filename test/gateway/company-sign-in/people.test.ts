import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { CALLBACK, CookieJar, begin, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock } from '../../support/fixtures/locks.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';
import { sampled } from '../../support/sample.ts';

const issuer: ForgingIssuer = await startForgingIssuer();
const options = { bounds: { requestsOfClient: Infinity } };
const groupsClaim = { OIDC_ORGANIZATION: 'company', OIDC_GROUPS_CLAIM: 'groups', OIDC_ADMIN_GROUPS: 'Admins,root' };
const gateway = await startTestGateway({ ...issuer.env, ...groupsClaim, OIDC_DEFAULT_ROLE: 'member' }, options);
const trusting = await startTestGateway({ ...issuer.env, OIDC_EMAIL: 'trusted' }, { ...options, beside: gateway });
const { key: ownerKey } = await gateway.createKey({ organization: 'company', email: 'owner@elsewhere.example' });

afterAll(async () => {
  await trusting.close();
  await gateway.close();
  await issuer.stop();
});

let number = 0;
let person: { sub: string; email: string; email_verified: boolean; name: string };
beforeEach(() => {
  number += 1;
  const name = `person-${number}`;
  person = { sub: name, email: `${name}@example.com`, email_verified: true, name };
});

const signIn = async (claims: object, where = gateway) => {
  const jar = new CookieJar(where);
  const response = await signInAs(jar, issuer, { ...claims });
  return { jar, status: response.status, html: await response.text() };
};

interface Viewer {
  readonly user: { readonly databaseId: string; readonly email: string; readonly name: string | null };
  readonly role: string | null;
  readonly organization: { readonly slug: string } | null;
}
const viewerOf = ({ jar }: { jar: CookieJar }) =>
  jar.viewer<Viewer>('user { databaseId email name } role organization { slug }');

const REFUSAL = /<p role="alert">([^<]*)</;

describe('an e-mail address', () => {
  sampled(test, 5).each<[string, object, RegExp]>([
    ['that is missing', { email: undefined }, /did not send your e-mail address/],
    [
      'whose email_verified is missing',
      { email_verified: undefined },
      /does not say that your e-mail address is verified/,
    ],
    ['whose email_verified is null', { email_verified: null }, /does not say that your e-mail address is verified/],
    ['whose email_verified is false', { email_verified: false }, /is not verified/],
    ['whose email_verified is the text false', { email_verified: 'false' }, /is not verified/],
    ['whose email_verified is 1', { email_verified: 1 }, /is not verified/],
    ['of another domain', { email: 'one@example.org' }, /domain of your e-mail address may not sign in/],
    ['of a sub-domain', { email: 'one@sub.example.com' }, /domain of your e-mail address may not sign in/],
    ['of a domain that ends with a listed one', { email: 'one@badexample.com' }, /may not sign in/],
    ['with a dot after the domain', { email: 'one@example.com.' }, /not valid here/],
    ['with two domains', { email: 'one@evil.example@example.com' }, /not valid here/],
    ['in quotes', { email: '"one@evil.example"@example.com' }, /not valid here/],
    ['with letters that look like ASCII', { email: 'оne@example.com' }, /not valid here/],
    ['with a letter that is ASCII in lower case', { email: 'mar\u212A@example.com' }, /not valid here/],
    ['with a domain in other letters', { email: 'one@exаmple.com' }, /not valid here/],
    ['with a space', { email: ' one@example.com' }, /not valid here/],
    ['that is a list', { email: ['one@example.com'] }, /not valid here/],
    ['that is an object', { email: { toString: 'one@example.com' } }, /not valid here/],
  ])('%s joins and creates no account', async (_, change, message) => {
    const { status, html, jar } = await signIn({ ...person, ...change });
    expect([status, REFUSAL.exec(html)?.[1]]).toEqual([403, expect.stringMatching(message)]);
    expect([...jar.cookies.keys()]).toEqual([]);
  });

  test('counts if email_verified is the text true, as Cognito sends it', async () => {
    expect((await viewerOf(await signIn({ ...person, email_verified: 'true' }))).user.email).toBe(person.email);
  });

  test('counts whatever the case of its letters and of the listed domain', async () => {
    const signedIn = await signIn({ ...person, email: `Upper${number}@PARTNER.Example` });
    expect((await viewerOf(signedIn)).user.email).toBe(`upper${number}@partner.example`);
  });

  test('with OIDC_EMAIL=trusted, counts without email_verified, but not if that is false', async () => {
    expect((await signIn({ ...person, email_verified: undefined }, trusting)).status).toBe(200);
    for (const email_verified of [false, 'false', 0])
      expect((await signIn({ ...person, sub: 'x', email: 'x@example.com', email_verified }, trusting)).status).toBe(
        403,
      );
  });
});

describe('an account', () => {
  test('is created once; the identity then signs in whatever its address has become', async () => {
    const first = await viewerOf(await signIn(person));
    expect(first).toMatchObject({
      user: { email: person.email, name: person.name },
      role: 'MEMBER',
      organization: { slug: 'company' },
    });
    for (const change of [{}, { email: 'new@example.org' }, { email: undefined }, { email_verified: false }])
      expect(await viewerOf(await signIn({ ...person, ...change }))).toEqual(first);
  });

  test('takes over a changed address that counts and a name where it has none, at each sign-in, but not an address of somebody else', async () => {
    const { databaseId } = (await viewerOf(await signIn({ ...person, name: undefined }))).user;
    const email = `changed-${number}@example.com`;
    const moved = await viewerOf(await signIn({ ...person, email: email.toUpperCase(), name: 'Given' }));
    expect(moved.user).toEqual({ databaseId, email, name: 'Given' });
    expect((await viewerOf(await signIn({ ...person, email, name: 'Other' }))).user).toEqual(moved.user);
    const used = await gateway.createKey({ email: `used-${number}@example.com` });
    const refused = await signIn({ ...person, email: used.email });
    expect([(await viewerOf(refused)).user.email, refused.html]).toEqual([
      email,
      expect.stringContaining('another account has the new one'),
    ]);
    const freed = await viewerOf(await signIn({ ...person, sub: `next-${number}` }));
    expect(freed.user.databaseId).not.toBe(databaseId);
    const entries = await gateway.dependencies.sql.query<{ detail: string }>(
      `select detail from audit_entry where operation = 'followIdentity' and target_id = $1 order by occurred_at, id`,
      [databaseId],
    );
    expect(entries.map(({ detail }) => detail)).toEqual(['address, name']);
  });

  sampled(test, 3).each<[string, unknown, string | null]>([
    ['a name with spaces around it', '  Ada Lovelace ', 'Ada Lovelace'],
    ['a name of 100 characters', '😀'.repeat(100), '😀'.repeat(100)],
    ['a name of 101 characters', 'x'.repeat(101), null],
    ['NUL', 'a\0b', null],
    ['half of a character', 'a\uD800', null],
    ['spaces', '  ', null],
    ['an object', {}, null],
  ])('is created with the rules of names for the claim name: %s', async (_, name, expected) => {
    expect((await viewerOf(await signIn({ ...person, name }))).user.name).toBe(expected);
  });

  test('is created with the names of which the whole one consists if that is missing, as Okta and ADFS send them', async () => {
    const parts = { name: undefined, given_name: 'Ada', family_name: 'Lovelace' };
    expect((await viewerOf(await signIn({ ...person, ...parts }))).user.name).toBe('Ada Lovelace');
  });

  test('that exists is joined to the first identity of its address, and keeps its roles and name', async () => {
    const { userId, organization } = await gateway.createKey({ email: person.email });
    const viewer = await viewerOf(await signIn(person));
    expect(viewer).toMatchObject({ user: { databaseId: userId, name: null }, organization: { slug: organization } });
  });

  test('is not joined to a second identity of the provider', async () => {
    expect((await signIn(person)).status).toBe(200);
    const { status, html } = await signIn({ ...person, sub: `${person.sub}-again` });
    expect([status, REFUSAL.exec(html)?.[1]]).toEqual([403, expect.stringMatching(/joined to another identity/)]);
  });

  test('is not found by the address again, after another person has got it', async () => {
    const first = await viewerOf(await signIn(person));
    const { status } = await signIn({ ...person, sub: `${person.sub}-successor` });
    expect(status).toBe(403);
    const { user } = await viewerOf(await signIn({ ...person, email: 'renamed@example.com' }));
    expect(user.databaseId).toBe(first.user.databaseId);
  });

  test('of two first sign-ins of a person at once is the same', async () => {
    const both = await Promise.all([signIn(person), signIn(person)]);
    const [one, other] = await Promise.all(both.map(viewerOf));
    expect(one).toEqual(other);
    expect(one?.user.email).toBe(person.email);
  });

  test('whose deletion begins meanwhile refuses the sign-in', async () => {
    const { user } = await viewerOf(await signIn(person));
    const deletion = gateway.dependencies.database.em.fork();
    await deletion.begin();
    await deletion.execute('update user_account set email = null, name = null where id = ?', [user.databaseId]);
    const refused = signIn(person);
    await untilWaitingForLock(gateway, 1);
    await deletion.commit();
    const { status, html } = await refused;
    expect([status, REFUSAL.exec(html)?.[1]]).toEqual([403, expect.stringMatching(/is being deleted/)]);
  });

  test('with sign-ins, joins and roles in the audit log', async () => {
    await signIn({ ...person, groups: ['Admins'] });
    const entries = await gateway.rest('POST', '/graphql', {
      key: ownerKey,
      body: {
        query:
          '{ viewer { organization { auditLog(first: 3) { nodes { operation detail actor { ... on User { email } } } } } } }',
      },
    });
    expect(entries.body).toMatchObject({
      data: {
        viewer: {
          organization: {
            auditLog: {
              nodes: expect.arrayContaining([
                { operation: 'signIn', detail: 'OIDC', actor: { email: person.email } },
                { operation: 'changeOrganizationMemberRole', detail: BY_GROUP, actor: { email: person.email } },
                { operation: 'joinIdentity', detail: `created: ${issuer.issuer}`, actor: { email: person.email } },
              ]),
            },
          },
        },
      },
    });
  });
});

const BY_GROUP = 'admin (group Admins)';

describe('groups', () => {
  test('that change a role are in the audit log, with the person and the new role, and those that change none are not', async () => {
    const { user } = await viewerOf(await signIn({ ...person, groups: ['Admins'] }));
    for (const groups of [['Admins'], undefined, [], ['Admins']]) await signIn({ ...person, groups });
    const query = `{ viewer { organization { auditLog(first: 9, filter: { operations: ["changeOrganizationMemberRole"], actorIds: ["${user.databaseId}"] }) {
      nodes { detail targetLabel actor { ... on User { email } } } } } } }`;
    const entry = (detail: string) => ({
      detail,
      targetLabel: `${person.name} (${person.email})`,
      actor: { email: person.email },
    });
    expect((await gateway.graphql(ownerKey, query)).data).toEqual({
      viewer: { organization: { auditLog: { nodes: [BY_GROUP, 'member', BY_GROUP].map(entry) } } },
    });
  });

  test('make their members administrators, and others members, at each sign-in', async () => {
    const roleWith = async (groups: unknown) => (await viewerOf(await signIn({ ...person, groups }))).role;
    expect(await roleWith(['staff'])).toBe('MEMBER');
    expect(await roleWith(['staff', 'Admins'])).toBe('ADMIN');
    expect(await roleWith('root')).toBe('ADMIN');
    expect(await roleWith(['admins'])).toBe('MEMBER');
    expect(await roleWith([])).toBe('MEMBER');
  });

  sampled(test, 3).each([
    ['Admins,staff', 'ADMIN'],
    ['staff; Admins', 'ADMIN'],
    ['staff Admins', 'MEMBER'],
    [undefined, 'MEMBER'],
  ])('that are the text %o make an administrator %s', async (groups, role) => {
    expect((await viewerOf(await signIn({ ...person, groups: ['Admins'] }))).role).toBe('ADMIN');
    expect((await viewerOf(await signIn({ ...person, groups }))).role).toBe(role);
  });

  test('that are missing change no role with OIDC_GROUPS_MISSING=keep, and the page says so', async () => {
    const env = { ...issuer.env, ...groupsClaim, OIDC_GROUPS_MISSING: 'keep' };
    const keeping = await startTestGateway(env, { ...options, beside: gateway });
    expect((await viewerOf(await signIn({ ...person, groups: ['Admins'] }))).role).toBe('ADMIN');
    const again = await signIn(person, keeping);
    expect([again.html, (await viewerOf(again)).role]).toEqual([
      expect.stringContaining('did not list your groups'),
      'ADMIN',
    ]);
    await keeping.close();
  });

  test('of OIDC_ALLOWED_GROUPS alone may sign in, also if what is missing changes no role', async () => {
    const env = { ...issuer.env, ...groupsClaim, OIDC_ALLOWED_GROUPS: 'staff,Admins', OIDC_GROUPS_MISSING: 'keep' };
    const closed = await startTestGateway(env, { ...options, beside: gateway });
    for (const groups of [undefined, [], ['guests'], 7]) {
      const { status, html } = await signIn({ ...person, groups }, closed);
      expect([status, REFUSAL.exec(html)?.[1]]).toEqual([403, expect.stringMatching(/in none of the groups/)]);
    }
    expect((await signIn({ ...person, groups: ['staff'] }, closed)).status).toBe(200);
    await closed.close();
  });

  sampled(test, 3).each<[string, object]>([
    ['is null', { groups: null }],
    ['is a number', { groups: 7 }],
    ['has more than texts', { groups: ['Admins', 7] }],
    [
      'is elsewhere',
      { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'http://127.0.0.1:1' } } },
    ],
    ['is announced by hasgroups', { hasgroups: true }],
    ['is announced by hasgroups as text', { hasgroups: 'true', groups: [] }],
  ])('change no role if the claim %s, and the page says so', async (_, claims) => {
    expect((await viewerOf(await signIn({ ...person, groups: ['Admins'] }))).role).toBe('ADMIN');
    const again = await signIn({ ...person, ...claims });
    expect(again.html).toContain('did not list your groups');
    expect(again.html).not.toContain('http-equiv');
    expect((await viewerOf(again)).role).toBe('ADMIN');
  });

  test('never demote the last administrator, and the page says so', async () => {
    const other = { ...issuer.env, ...groupsClaim, OIDC_ORGANIZATION: 'small' };
    const small = await startTestGateway(other, { ...options, beside: gateway });
    await gateway.createKey({ organization: 'small', email: person.email });
    const { html, jar } = await signIn({ ...person, groups: [] }, small);
    expect(html).toContain('the last administrator of the organization');
    expect((await viewerOf({ jar })).role).toBe('ADMIN');
    await small.close();
  });
});

test('of the only two administrators who have left the group and sign in at once, one is demoted', async () => {
  const env = { ...issuer.env, ...groupsClaim, OIDC_ORGANIZATION: 'pair' };
  const pair = await startTestGateway(env, { ...options, beside: gateway });
  const other = { ...person, sub: `${person.sub}-other`, email: `other-${person.email}` };
  for (const { email } of [person, other]) await gateway.createKey({ organization: 'pair', email, role: 'admin' });
  const jars = [new CookieJar(pair), new CookieJar(pair)];
  const answers = await Promise.all(jars.map((jar) => begin(jar, issuer)));
  const both = [person, other];
  issuer.tokenFor = (claims) => issuer.sign({ ...claims, ...both.pop(), groups: [] });
  const holding = gateway.dependencies.database.em.fork();
  await holding.begin();
  await holding.execute(`select from organization where slug = 'pair' for update`);
  const signIns = jars.map((jar, index) => jar.open(`${CALLBACK}?${answers[index]}`));
  await untilWaitingForLock(gateway, 2);
  await holding.commit();
  expect((await Promise.all(signIns)).map(({ status }) => status)).toEqual([200, 200]);
  issuer.tokenFor = (claims) => issuer.sign(claims);
  const roles = await Promise.all(jars.map((jar) => viewerOf({ jar })));
  expect(new Set(roles.map(({ role }) => role))).toEqual(new Set(['ADMIN', 'MEMBER']));
  await pair.close();
});

test('keys of a person with an identity who has not signed in for long are refused until they do', async () => {
  const sleeping = await startTestGateway(
    { ...issuer.env, OIDC_KEYS_SLEEP_AFTER: '30' },
    { ...options, beside: gateway },
  );
  const { key } = await gateway.createKey({ email: person.email });
  const { key: other } = await gateway.createKey();
  const ask = (with_: string, where = sleeping) => where.rest('GET', '/v1/users/me', { key: with_ });
  const personal = await signIn(person, sleeping);
  const withKey = new CookieJar(sleeping);
  await withKey.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
  const { sql } = gateway.dependencies;
  const lastSignIn = (at: Date) =>
    sql.query('update identity set last_signed_in_at = $1 where subject = $2', [at, person.sub]);
  const open = async ({ jar }: { jar: CookieJar }) => (await jar.open('/v1/users/me')).status;
  expect([await open({ jar: withKey }), await open(personal)]).toEqual([200, 200]);
  await lastSignIn(new Date(Date.now() - 31 * 86_400_000));
  expect([await open({ jar: withKey }), await open(personal)]).toEqual([401, 200]);
  await lastSignIn(new Date());
  const late = (days: number, ms = 0) => sleeping.setClock(new Date(Date.now() + days * 86_400_000 + ms));
  late(29);
  expect((await ask(key)).status).toBe(200);
  late(31);
  expect(await ask(key)).toMatchObject({
    status: 401,
    body: { error: expect.stringContaining('sign in on the page /sign-in') },
  });
  expect((await ask(other)).status).toBe(200);
  expect((await ask(key, gateway)).status).toBe(200);
  const form = await new CookieJar(sleeping).open('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
  expect([form.status, await form.text()]).toEqual([401, expect.stringContaining('That key is asleep')]);
  await gateway.dependencies.sql.query('update identity set last_signed_in_at = $1 where subject = $2', [
    new Date(Date.now() + 31 * 86_400_000),
    person.sub,
  ]);
  expect((await ask(key)).status).toBe(200);
  await sleeping.close();
});

test('a person sees the open sign-ins, and ends one; nobody else does', async () => {
  const [one, other] = [await signIn(person), await signIn(person)];
  const { userId, key } = await gateway.createKey({ email: person.email, organization: 'company' });
  const fields =
    'signIns(first: 5) { totalCount nodes { id name kind isCurrent viewerCanUpdate viewerCanRevoke } } apiKey { id kind } identities { issuer createdAt lastSignedInAt }';
  interface SignIns {
    readonly apiKey: { readonly id: string; readonly kind: string };
    readonly signIns: { readonly nodes: readonly { readonly id: string }[] };
    readonly identities: readonly { readonly createdAt: string; readonly lastSignedInAt: string }[];
  }
  const shown = await one.jar.viewer<SignIns>(fields);
  const signInRow = {
    id: expect.any(String),
    name: 'Sign-in with your company',
    kind: 'SIGN_IN',
    viewerCanUpdate: false,
    viewerCanRevoke: true,
  };
  expect(shown).toEqual({
    signIns: {
      totalCount: 2,
      nodes: [
        { ...signInRow, isCurrent: false },
        { ...signInRow, isCurrent: true },
      ],
    },
    apiKey: { id: shown.signIns.nodes[1]?.id, kind: 'SIGN_IN' },
    identities: [{ issuer: issuer.issuer, createdAt: expect.any(String), lastSignedInAt: expect.any(String) }],
  });
  const end = (id: string, by: string) =>
    gateway.rest('POST', '/graphql', {
      key: by,
      body: { query: `mutation { revokeApiKey(input: { apiKeyId: "${id}" }) { __typename } }` },
    });
  const [identity] = shown.identities;
  expect(Date.parse(identity?.lastSignedInAt ?? '')).toBeGreaterThan(Date.parse(identity?.createdAt ?? ''));
  expect((await gateway.graphql(key, '{ viewer { apiKey { isCurrent } identities { issuer } } }')).data).toEqual({
    viewer: { apiKey: { isCurrent: true }, identities: [{ issuer: issuer.issuer }] },
  });
  const current = shown.apiKey.id;
  expect((await end(current, ownerKey)).body).toMatchObject({
    data: { revokeApiKey: { __typename: 'NotFoundError' } },
  });
  const ended = await other.jar.open('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ query: `mutation { revokeApiKey(input: { apiKeyId: "${current}" }) { __typename } }` }),
  });
  expect(await ended.json()).toMatchObject({ data: { revokeApiKey: { __typename: 'RevokeApiKeyPayload' } } });
  expect((await one.jar.open('/v1/users/me')).status).toBe(401);
  expect((await other.jar.open('/v1/users/me')).status).toBe(200);
  expect(userId).toBeDefined();
  expect((await gateway.rest('GET', '/v1/api-keys', { key })).body).toMatchObject({
    items: [{ name: expect.any(String) }],
  });
});

test('a sign-in without other organizations ends with the removal from the organization', async () => {
  const signedIn = await signIn(person);
  const { user } = await viewerOf(signedIn);
  const removal = await gateway.rest('POST', '/graphql', {
    key: ownerKey,
    body: {
      query: `mutation { removeOrganizationMember(input: { userId: "${user.databaseId}" }) { __typename } }`,
    },
  });
  expect(removal.body).toMatchObject({
    data: { removeOrganizationMember: { __typename: expect.stringMatching(/Payload$/) } },
  });
  expect((await signedIn.jar.open('/v1/users/me')).status).toBe(401);
});
