import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { createSession } from '../support/fixtures/sessions.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

test('a DELETE that takes no body refuses one that says something, before it deletes', async () => {
  const path = `/v1/api-keys/${randomUUID()}`;
  const answers = [];
  for (const body of [undefined, '{}', '{"a":1}', '{bad', '[]']) {
    const { status, body: told } = await gateway.rest<{ error: string }>('DELETE', path, { key, body });
    answers.push([status, told.error]);
  }
  expect(answers).toEqual([
    [404, 'API key not found'],
    [404, 'API key not found'],
    [400, 'a: is not a known property'],
    [400, 'the body is not well-formed JSON'],
    [400, 'the body must be a JSON object'],
  ]);
});

test('PATCH of a session without a body changes nothing', async () => {
  const id = await createSession(gateway, key);
  const [before, after] = [
    await gateway.rest<object>('PATCH', `/v1/sessions/${id}`, { key, body: {} }),
    await gateway.rest<object>('PATCH', `/v1/sessions/${id}`, { key }),
  ];
  expect([after.status, after.body]).toEqual([200, before.body]);
});

test('as many fields as tokens allow pass, however often they are repeated; what cannot be compared is refused with the number', async () => {
  const fields = await gateway.graphql(key, `{${'__typename '.repeat(3990)}}`);
  expect(fields.data).toEqual({ __typename: 'Query' });
  const parts = Array.from({ length: 900 }, () => '... { __typename } ').join('');
  const { errors } = await gateway.graphql(key, `{ ${parts} }`);
  expect(errors).toMatchObject([{ extensions: { code: 'TOO_MANY_COMPARISONS', limit: 500_000 } }]);
});
