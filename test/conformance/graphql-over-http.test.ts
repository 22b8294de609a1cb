import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGateway } from '../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../support/fixtures/gateway.ts';
import { proof } from '../support/proof.ts';

let gateway: TestGateway;
let server: RunningServer;

beforeAll(async () => {
  gateway = await startTestGateway();
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await server.stop(1_000);
  await gateway.close();
});

test('the audits of GraphQL over HTTP find no error and no warning', async () => {
  const { key } = await gateway.createKey();
  const audits = serverAudits({
    url: `${server.url}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set('Authorization', `Bearer ${key}`);
      return fetch(url, { ...init, headers });
    },
  });
  const results = await Promise.all(audits.map(async (audit) => audit.fn()));
  const of = (status: string) => results.filter((result) => result.status === status);
  expect(of('error').map(({ name }) => name)).toEqual([]);
  expect(of('warn').map(({ name }) => name)).toEqual([]);
  expect(of('ok').length).toBeGreaterThanOrEqual(61);
  proof('GraphQL over HTTP', { figures: { ok: of('ok').length, warnings: 0, errors: 0 } });
});
