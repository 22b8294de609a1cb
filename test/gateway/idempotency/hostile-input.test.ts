import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test('400: input that is nested too deeply, under an idempotency key', async () => {
  const { key } = await gateway.createKey();
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const body = `{"channelGuid":"${randomUUID()}","content":{"body":"Deep","rest":${deep}}}`;
  const headers = { 'Idempotency-Key': 'deep' };
  const answer = await gateway.rest('POST', '/broadcast/v1/broadcasts', { key, body, headers });
  expect(answer.status).toBe(400);
});
