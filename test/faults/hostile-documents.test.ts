import { afterAll, beforeAll, expect, test } from 'vitest';
import { attacks, rawAttacks } from '../support/fixtures/attacks.ts';
import { BEHIND_PROXY, TRANSPORTS, post } from '../support/fixtures/hostile-documents.ts';
import { type GatewayProcess, SMALL_HEAP, endProcesses, gatewayWithKey } from '../support/processes/process.ts';
import { proof } from '../support/proof.ts';

let gateway: GatewayProcess;
let key: string;
beforeAll(async () => {
  ({ gateway, key } = await gatewayWithKey({
    LOG_LEVEL: 'error',
    ...BEHIND_PROXY,
    ...SMALL_HEAP,
  }));
});
afterAll(endProcesses);

test.each(Object.entries(TRANSPORTS))(
  'G2, G3, G4, G8: every attack gets its expected verdict over %s; without a key, all are refused before a body is sent',
  async (way, send) => {
    const found: object[] = [];
    const expected: object[] = [];
    for (const attack of attacks) {
      const { name, verdict, query, variables = '' } = attack;
      // The HTTP server of Node.js accepts at most 16 KiB of headers, including the URL.
      const isTooLong = way === 'GET' && String(new URLSearchParams({ query, variables })).length > 15_950;
      const { status, code } = await send({ url: gateway.url, key }, attack);
      found.push({ name, verdict: status === 431 ? 431 : code, isFailure: status >= 500 });
      // A URL cannot contain lone surrogates.
      const expectedVerdict = way === 'GET' && !query.isWellFormed() ? 'answered' : verdict;
      expected.push({ name, verdict: isTooLong ? 431 : expectedVerdict, isFailure: false });
      if (isTooLong) continue;
      const anonymous = await send({ url: gateway.url }, attack);
      found.push({ name, anonymous: [anonymous.status, anonymous.code] });
      expected.push({ name, anonymous: [401, 'UNAUTHENTICATED'] });
    }
    expect(found).toEqual(expected);
  },
);

test('each malformed body gets a 4xx status and an error code', async () => {
  for (const { name, status, headers, body } of rawAttacks)
    expect({ name, ...(await post({ url: gateway.url, key }, body, undefined, headers)) }).toEqual({
      name,
      status,
      code: expect.stringMatching(/^\w+$/),
    });
  proof('Hostile documents', {
    figures: { 'documents × ways': attacks.length * Object.keys(TRANSPORTS).length, bodies: rawAttacks.length },
  });
});
