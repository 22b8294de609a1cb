import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test('a revoked key no longer authenticates, and a key may revoke itself', async () => {
  const { key, keyId } = await gateway.createKey();
  const revoked = await gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key });
  expect({ status: revoked.status, body: revoked.body }).toEqual({ status: 200, body: { deleted: true, id: keyId } });
  const again = await gateway.rest('DELETE', `/v1/api-keys/${keyId}`, { key });
  expect({ status: again.status, body: again.body, challenge: again.headers.get('www-authenticate') }).toEqual({
    status: 401,
    body: { error: 'missing or invalid API key' },
    challenge: 'Bearer',
  });
});
