import { afterAll, expect, test } from 'vitest';
import { CompanySignIn } from '../../../src/gateway/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** Whoever had the organization of OIDC_ORGANIZATION would get the people of the company as its members. */

const issuer = await startForgingIssuer();
const gateway = await startTestGateway({ ...issuer.env, OIDC_ORGANIZATION: 'acme', OIDC_DEFAULT_ROLE: 'member' });
const { key } = await gateway.createKey({ organization: 'other' });

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

const create = (body: object) => gateway.rest<{ slug: string }>('POST', '/v1/organizations', { key, body });
const warnings = async () => {
  const before = gateway.logged.length;
  await new CompanySignIn(gateway.dependencies).check();
  return gateway.logged.slice(before).filter((line) => line.includes('OIDC_ORGANIZATION')).length;
};

test('only the operator creates the organization, and the start warns until it exists', async () => {
  expect(await create({ name: 'Company', slug: 'acme' })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('only the operator of this gateway can create the organization acme') },
  });
  expect(await create({ name: 'Acme' })).toMatchObject({ status: 201, body: { slug: 'acme-2' } });
  expect(await create({ name: 'Company', slug: 'acme-3' })).toMatchObject({ status: 201 });
  expect(await warnings()).toBe(1);
  await gateway.createKey({ organization: 'acme' });
  expect(await warnings()).toBe(0);
  expect(await create({ name: 'Company', slug: 'acme' })).toMatchObject({ status: 409 });
});
