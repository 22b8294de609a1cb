import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

/** The limits of a user, beside those of each key: all keys together, and the browsers that are signed in with them. */

const LIMIT = 4;
const OF_USER = 5 * LIMIT;
/** 20 s before a minute ends. */
const AT = new Date('2026-03-01T10:20:40.000Z');

let one: TestGateway;
let two: TestGateway;
let email: string;
let organization: string;
let keys: readonly string[];

beforeAll(async () => {
  one = await startTestGateway({ RATE_LIMIT_PER_MINUTE: String(LIMIT) });
  two = await startTestGateway({ RATE_LIMIT_PER_MINUTE: String(LIMIT) }, { beside: one });
});
beforeEach(async () => {
  setClocks(AT);
  const first = await one.createKey();
  ({ email, organization } = first);
  const more = [];
  for (let count = 1; count < 8; count += 1) more.push((await one.createKey({ email, organization })).key);
  keys = [first.key, ...more];
});
afterAll(async () => {
  await two.close();
  await one.close();
});

function setClocks(at: Date): void {
  one.setClock(at);
  two.setClock(at);
}

const authorized = (key = ''): Record<string, string> => ({ Authorization: `Bearer ${key}` });

const read = (headers: Record<string, string>, gateway = one) =>
  gateway.rest<object>('GET', '/v1/users/me', { headers });

/** As many requests as a key may send, which are all accepted. */
async function useUp(headers: Record<string, string>): Promise<void> {
  for (let count = 0; count < LIMIT; count += 1) expect((await read(headers)).status).toBe(200);
}

const signIn = async (key = '') => one.fetch('/sign-in', { method: 'POST', body: new URLSearchParams({ key }) });
async function browser(key = ''): Promise<Record<string, string>> {
  const response = await signIn(key);
  expect(response.status).toBe(303);
  return { Cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '', 'Sec-Fetch-Site': 'same-origin' };
}

const ask = async (query: string, headers: Record<string, string>) => {
  const response = await one.fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  return (await response.json()) as { errors?: { message: string }[]; extensions: { cost: object } };
};

/** A query of 19,623 points. */
const COSTLY = `{ ${Array.from({ length: 31 }, (_, page) => `p${page}: viewer { organization { eventDefinitions(first: 100) { nodes { properties { name } } } } }`).join(' ')} }`;
const COST = 31 * (3 + 600 + 30);

/** The counter of refusals by its labels. */
async function refusals(): Promise<Readonly<Record<string, number>>> {
  const text = await (await one.fetch('/metrics')).text();
  const found = text.matchAll(/^gateway_rate_limited_total\{budget="(\w+)",unit="(\w+)"\} (\d+)/gm);
  return Object.fromEntries([...found].map(([, budget, unit, count]) => [`${budget} ${unit}`, Number(count)]));
}

describe('all keys of a user together', () => {
  test('have five times the requests of one key, exactly, over two gateways', async () => {
    const answers = await Promise.all(
      keys.flatMap((key) => Array.from({ length: LIMIT }, (_, index) => read(authorized(key), index % 2 ? one : two))),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(answers.length - OF_USER);
    const error = `rate limit exceeded: ${OF_USER} requests per minute for all API keys of a user together; try again in 20 s`;
    for (const { body, headers } of refused) {
      expect(body).toEqual({ error });
      expect([headers.get('RateLimit-Remaining'), headers.get('Retry-After')]).toEqual(['0', '20']);
    }
    const other = await one.createKey({ organization });
    expect((await read(authorized(other.key))).status).toBe(200);
    setClocks(new Date(AT.getTime() + 20_000));
    expect((await read(authorized(keys[0]))).status).toBe(200);
  });

  test('lose nothing by the refused requests of one of them, and each answer says what is left of the lesser limit', async () => {
    await useUp(authorized(keys[0]));
    for (let count = 0; count < OF_USER; count += 1) expect((await read(authorized(keys[0]))).status).toBe(429);
    for (const key of keys.slice(1, 4)) await useUp(authorized(key));
    await read(authorized(keys[4]));
    await read(authorized(keys[5]));
    const last = await read(authorized(keys[6]));
    expect([last.status, last.headers.get('RateLimit-Remaining')]).toEqual([200, '1']);
  });

  test('have five times the cost of one key, and a refused operation costs no key anything', async () => {
    const before = await refusals();
    for (const key of keys.slice(0, 5)) {
      const { errors, extensions } = await ask(COSTLY, authorized(key));
      expect([errors, extensions.cost]).toEqual([undefined, expect.objectContaining({ requested: COST })]);
    }
    const left = 100_000 - 5 * COST;
    const refused = await ask(COSTLY, authorized(keys[5]));
    expect(refused.errors?.[0]?.message).toContain(
      `The query costs ${COST}; ${left} of all your keys' 100000 points per minute are left.`,
    );
    expect(refused.extensions.cost).toMatchObject({ requested: COST, limit: 20_000, remaining: left });
    const { extensions } = await ask('{ viewer { user { email } } }', authorized(keys[5]));
    expect(extensions.cost).toMatchObject({ requested: 12, remaining: left - 12 });
    expect((await refusals())['keys_of_user cost']).toBe((before['keys_of_user cost'] ?? 0) + 1);
  });
});

describe('a signed-in browser', () => {
  test('reads while its key is used up, and its key works while the browser is refused', async () => {
    const cookie = await browser(keys[0]);
    await useUp(authorized(keys[0]));
    expect((await read(authorized(keys[0]))).status).toBe(429);
    expect((await read(cookie)).headers.get('RateLimit-Remaining')).toBe(String(LIMIT - 2));

    const other = await browser(keys[1]);
    // The sign-in was the first request.
    for (let count = 1; count < LIMIT; count += 1) expect((await read(other)).status).toBe(200);
    const refused = await read(other);
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: `rate limit exceeded: ${LIMIT} requests per minute per signed-in browser; try again in 20 s` },
    ]);
    await useUp(authorized(keys[1]));
  });

  test('pays its operations from its own budget', async () => {
    const cookie = await browser(keys[0]);
    expect((await ask(COSTLY, cookie)).errors).toBeUndefined();
    expect((await ask(COSTLY, cookie)).errors?.[0]?.message).toContain(
      "of the browser's 20000 points per minute are left",
    );
    expect((await ask(COSTLY, authorized(keys[0]))).errors).toBeUndefined();
  });

  test('shares five times the limits of one with all other browsers of the user; signing in is a request too, and stops no key', async () => {
    for (let count = 0; count < OF_USER; count += 1) await browser(keys[count % keys.length]);
    const refused = await signIn(keys[0]);
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([429, null]);
    expect(await refused.text()).toContain(
      `${OF_USER} requests per minute for all signed-in browsers of a user together`,
    );
    for (const key of keys.slice(0, 5)) await useUp(authorized(key));
    setClocks(new Date(AT.getTime() + 20_000));
    expect((await signIn(keys[0])).status).toBe(303);
  });
});
