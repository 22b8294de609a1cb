import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { postGraphQL } from '../../support/fixtures/graphql-requests.ts';
import { send } from '../../support/fixtures/second-gateway.ts';
import { EventStream, createSession } from '../../support/fixtures/sessions.ts';

/** The parameter `onError` of a request (graphql-spec, pull request 1163). */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

/** `nodes` is not nullable, and refuses more than 100 ids. */
const TOO_MANY = JSON.stringify(Array.from({ length: 101 }, () => 'x'));
const QUERY = `{ a: nodes(ids: ${TOO_MANY}) { id } b: nodes(ids: ${TOO_MANY}) { id } viewer { role } }`;

const ask = async (query: string, onError?: unknown) => {
  const { status, body } = await postGraphQL({ gateway, key }, { query, ...(onError !== undefined && { onError }) });
  return { status, data: body.data, errors: body.errors?.length };
};
const NULLED = { a: null, b: null, viewer: { role: 'ADMIN' } };

test.each([
  ['PROPAGATE', { data: null, errors: 2 }],
  ['NULL', { data: NULLED, errors: 2 }],
  ['HALT', { data: null, errors: 1 }],
])('%s: interpreted and compiled, over POST, GET and with other members beside it', async (onError, wanted) => {
  for (let run = 0; run < 5; run += 1)
    expect(await ask(QUERY, onError)).toEqual({ status: 200, ...wanted, errors: expect.any(Number) });
  const { errors } = await ask(QUERY, onError);
  expect(errors).toBe(onError === 'PROPAGATE' ? errors : wanted.errors);
  const search = new URLSearchParams({ query: QUERY, onError, nonsense: '1' });
  search.append('nonsense', '2');
  const got = await send(gateway, 'GET', `/graphql?${search}`, { key, headers: { Accept: 'application/json' } });
  expect((got.body as { data: unknown }).data).toEqual(wanted.data);
});

test('the default is PROPAGATE, null is absent, and another value is an error of the request', async () => {
  expect((await ask(QUERY)).data).toBeNull();
  expect((await ask(QUERY, null)).data).toBeNull();
  const { body } = await postGraphQL({ gateway, key }, { query: '{ __typename }', onError: 'null' });
  expect(body).toMatchObject({
    errors: [{ message: 'onError: must be one of PROPAGATE, NULL, HALT', extensions: { code: 'INVALID_INPUT' } }],
  });
  expect(body).not.toHaveProperty('data');
});

test('HALT of a mutation acts as NULL once a write is committed', async () => {
  const id = await createSession(gateway, key);
  const query = `mutation { updateSession(input: { sessionId: "${id}", title: "Kept" }) {
    ... on UpdateSessionPayload { session { title artifacts(first: 1000) { totalCount } } } } }`;
  const { body } = await postGraphQL({ gateway, key }, { query, onError: 'HALT' });
  expect(body.data).toEqual({ updateSession: { session: { title: 'Kept', artifacts: null } } });
  expect(body.errors).toHaveLength(1);
  const refused = await postGraphQL(
    { gateway, key },
    { query: query.replace(id, 'x'), onError: 'HALT' },
    { 'Idempotency-Key': 'halted' },
  );
  expect(refused.body.data).toEqual({ updateSession: {} });
});

test('each event of a subscription is halted by itself', async () => {
  const id = await createSession(gateway, key);
  const stream = new EventStream(
    await gateway.fetch('/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: SUBSCRIPTION, onError: 'HALT' }),
    }),
  );
  await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body: { title: 'Changed' } });
  const message = await stream.nextData();
  expect(JSON.parse(message?.data ?? '')).toMatchObject({ data: null, errors: [{}] });
  await stream.close();
});
const SUBSCRIPTION = `subscription { sessionChange { ... on SessionChanged { changedSession { id artifacts(first: 1000) { totalCount } } } } }`;
