import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createSignInLink } from '../../../src/domains/identities/public.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ForgingIssuer, startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** What holds however a person signs in: with a key, the identity provider, or a one-time link. */

const LIMIT = 1;
const OF_USER = 5 * LIMIT;

const issuer: ForgingIssuer = await startForgingIssuer();
const gateway = await startTestGateway(
  { ...issuer.env, RATE_LIMIT_PER_MINUTE: String(LIMIT) },
  { bounds: { requestsOfClient: Infinity } },
);

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

interface Person {
  readonly email: string;
  readonly key: string;
  readonly organization: string;
  readonly userId: string;
}
let number = 0;
let person: Person;
beforeEach(async () => {
  number += 1;
  // The minute of the limits does not end, and the clock is near that of the provider, whose tokens must not be from the future.
  gateway.setClock(new Date());
  person = await gateway.createKey({ email: `person-${number}@example.com` });
});

const linkOf = async ({ email }: Person) => {
  const { token } = await createSignInLink(workContext(gateway.dependencies), email);
  return `/sign-in?token=${token}`;
};
const WAYS = {
  KEY: (jar: CookieJar, { key }: Person) =>
    jar.open('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) }),
  OIDC: (jar: CookieJar, { email }: Person) => signInAs(jar, issuer, { sub: email, email, email_verified: true }),
  LINK: async (jar: CookieJar, one: Person) => jar.open(await linkOf(one)),
} as const;
type Way = keyof typeof WAYS;
const ways = Object.keys(WAYS) as Way[];

const signIn = async (way: Way, one = person) => {
  const jar = new CookieJar(gateway);
  const response = await WAYS[way](jar, one);
  return { jar, status: response.status, text: await response.text() };
};

const signInsOf = async ({ userId }: Person) => {
  const rows = await gateway.dependencies.sql.query<{ name: string }>(
    `select name from api_key where user_id = $1 and kind = 'SIGN_IN'`,
    [userId],
  );
  return rows.length;
};
const entriesOf = ({ organization }: Person) =>
  gateway.dependencies.sql.query<{ operation: string; detail: string | null }>(
    `select e.operation, e.detail from audit_entry e join organization o on o.id = e.organization_id
      where o.slug = $1 and e.operation in ('signIn', 'createSignInLink', 'joinIdentity') order by e.occurred_at, e.id`,
    [organization],
  );

describe.each(ways)('a sign-in with %s', (way) => {
  test('counts toward the limit of the browsers of the person; beyond it nothing changes', async () => {
    for (let count = 0; count < OF_USER; count += 1) {
      const { status, jar } = await signIn(way);
      expect([status < 400, jar.cookies.has('workspace_session')]).toEqual([true, true]);
    }
    const [others, known] = [
      await gateway.createKey({ email: `other-${number}@example.com` }),
      await entriesOf(person),
    ];
    for (const each of ways.filter((one) => one !== 'LINK')) {
      const { status, jar, text } = await signIn(each);
      expect([status, text]).toEqual([
        429,
        expect.stringContaining(`${OF_USER} requests per minute for all signed-in browsers of a user together`),
      ]);
      expect(jar.cookies.has('workspace_session')).toBe(false);
    }
    expect([await signInsOf(person), await entriesOf(person)]).toEqual([OF_USER, known]);
    expect((await signIn(way, others)).status).toBeLessThan(400);
  });

  test('is in the audit log of the only organization of the person, with its kind', async () => {
    await signIn(way);
    const entries = await entriesOf(person);
    expect(entries).toContainEqual({ operation: 'signIn', detail: way });
    const before = {
      LINK: [['createSignInLink', null]],
      OIDC: [['joinIdentity', `joined: ${issuer.issuer}`]],
      KEY: [],
    };
    const others = entries.filter(({ operation }) => operation !== 'signIn');
    expect(others.map(({ operation, detail }) => [operation, detail])).toEqual(before[way]);
  });
});

test('a link that is opened too often is not used up', async () => {
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  gateway.setClock(new Date(minute + 20_000));
  const link = await linkOf(person);
  for (let count = 0; count < OF_USER; count += 1) await signIn('KEY');
  const jar = new CookieJar(gateway);
  const refused = await jar.open(link);
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 40]);
  gateway.setClock(new Date(minute + 80_000));
  expect((await jar.open(link)).status).toBe(200);
});
