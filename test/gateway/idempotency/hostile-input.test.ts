import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';

const gateway = useTestGateway();

test('400: a request with an idempotency key and input that is nested too deeply', async () => {
  const { key } = await gateway.createKey();
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const body = `{"channelGuid":"${randomUUID()}","content":{"body":"Deep","rest":${deep}}}`;
  const headers = { 'Idempotency-Key': 'deep' };
  const answer = await gateway.rest('POST', '/broadcast/v1/broadcasts', { key, body, headers });
  expect(answer.status).toBe(400);
});

test('an alias that is the name of a property of every JavaScript object is answered completely, and the same again', async () => {
  const { key } = await gateway.createKey();
  for (const alias of ['__proto__', 'constructor', 'toString']) {
    const query = `mutation { ${alias}: createOrganization(input: {name: "Named"}) { __typename ... on CreateOrganizationPayload { organization { name } } } }`;
    const send = async () => {
      const headers = { 'Idempotency-Key': alias, 'X-Request-Id': 'r1' };
      const { text } = await gateway.rest('POST', '/graphql', { key, body: { query }, headers });
      return text;
    };
    const first = await send();
    expect(first).toContain(
      `{"data":{"${alias}":{"__typename":"CreateOrganizationPayload","organization":{"name":"Named"}}}`,
    );
    expect(await send()).toBe(first);
  }
});
