import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { createWorkerPages } from '../../src/gateway/worker-pages.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';

/** The pages that `npm run worker` serves on `WORKER_PORT`. */

const METRICS_TOKEN = 'a-token-for-prometheus';

let gateway: TestGateway;
let server: RunningServer;
beforeAll(async () => {
  gateway = await startTestGateway({ METRICS_TOKEN });
  server = await serve(createWorkerPages(gateway.dependencies), { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await server.stop(0);
  await gateway.close();
});

async function ask(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, { headers });
  return { status: response.status, id: response.headers.get('X-Request-Id'), text: await response.text() };
}

test('a worker serves its health without a key, and its metrics only with METRICS_TOKEN', async () => {
  expect(await ask('/health/live')).toMatchObject({ status: 200, text: expect.stringContaining('"live"') });
  expect(await ask('/health/ready')).toMatchObject({ status: 200, text: expect.stringContaining('"ready"') });
  expect(await ask('/metrics')).toMatchObject({ status: 401, id: expect.any(String) });
  expect(await ask('/metrics', { Authorization: `Bearer ${METRICS_TOKEN}` })).toMatchObject({
    status: 200,
    text: expect.stringContaining('gateway_jobs'),
  });
});

test('a worker serves nothing else', async () => {
  expect(await ask('/graphql')).toEqual({
    status: 404,
    id: expect.any(String),
    text: JSON.stringify({ error: 'a worker serves only /health/live, /health/ready and /metrics' }),
  });
});
