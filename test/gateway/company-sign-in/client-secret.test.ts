import { afterAll, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/core/config.ts';
import { CompanySignIn } from '../../../src/gateway/company-sign-in.ts';
import { CookieJar, signInAs } from '../../support/fixtures/company-sign-in.ts';
import { startTestGateway } from '../../support/fixtures/gateway.ts';
import { startForgingIssuer } from '../../support/peers/forging-issuer.ts';

/** How the secret of the client is sent to the provider. */

const issuer = await startForgingIssuer();
const gateway = await startTestGateway(issuer.env);

afterAll(async () => {
  await gateway.close();
  await issuer.stop();
});

/** What a sign-in sends: the header, or the secret in the form. */
async function sentWith(env: Readonly<Record<string, string>>, metadata: Record<string, unknown> = {}) {
  issuer.metadata = metadata;
  const other = await startTestGateway({ ...issuer.env, ...env }, { beside: gateway });
  const answer = await signInAs(new CookieJar(other), issuer, { email: 'one@example.com', email_verified: true });
  await other.close();
  issuer.metadata = {};
  expect(answer.status).toBe(200);
  const [, encoded] = issuer.authorization?.split('Basic ') ?? [];
  return encoded === undefined
    ? issuer.tokenRequests.at(-1)?.get('client_secret')
    : Buffer.from(encoded, 'base64').toString();
}

const POST = { token_endpoint_auth_methods_supported: ['client_secret_post'] };
const BOTH = { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] };

test.each([
  ['dashes and dots stay, as providers that compare it undecoded expect', {}, {}, 'gateway:se-cr_e.t*1'],
  ['in the form if the provider lists nothing else', {}, POST, 'se-cr_e.t*1'],
  ['in the header if the provider lists both', {}, BOTH, 'gateway:se-cr_e.t*1'],
  ['in the form if the operator says so', { OIDC_TOKEN_AUTH: 'post' }, BOTH, 'se-cr_e.t*1'],
  ['in the header if the operator says so', { OIDC_TOKEN_AUTH: 'basic' }, POST, 'gateway:se-cr_e.t*1'],
  ['other characters as a form has them', { OIDC_CLIENT_SECRET: 'a b:%~/é' }, {}, 'gateway:a+b%3A%25%7E%2F%C3%A9'],
])('a secret is sent: %s', async (_, env, metadata, sent) => {
  expect(await sentWith({ OIDC_CLIENT_SECRET: 'se-cr_e.t*1', ...env }, metadata)).toBe(sent);
});

test.each([
  [{ require_pushed_authorization_requests: true }, 'demand pushed authorization requests (PAR)'],
  [
    { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
    'list neither client_secret_basic nor client_secret_post',
  ],
])('a provider whose metadata have %o stops the start', async (metadata, fault) => {
  issuer.metadata = metadata;
  const check = new CompanySignIn(gateway.dependencies).check();
  await expect(check).rejects.toThrow(new ConfigurationError(`OIDC_ISSUER: its metadata ${fault}`));
  issuer.metadata = {};
});
