import { serverAudits } from 'graphql-http';
import { expect, test } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { proof } from '../support/proof.ts';

const gateway = await startServedGateway();

test('the audits of GraphQL over HTTP find no error and no warning', async () => {
  const { key } = await gateway.createKey();
  const audits = serverAudits({
    url: `${gateway.url}/graphql`,
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
