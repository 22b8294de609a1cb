import { createPrivateKey } from 'node:crypto';
import type { Provider, ProviderContext } from 'oidc-provider';
import { generateSecret } from '../../domains/api-keys/public.ts';
import type { createAdapter } from './adapter.ts';

/** The paths of the authorization server. */
export const PATHS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  registration: '/oauth/register',
  consent: '/oauth/consent',
  device: '/oauth/device',
  deviceAuthorization: '/oauth/device/authorize',
  keys: '/oauth/keys',
} as const;

const ACCESS_TOKEN_SECONDS = 3600;
export const REFRESH_TOKEN_SECONDS = 30 * 24 * 3600;
const CODE_SECONDS = 60;
/** How long a person has for the sign-in and the decision. */
export const DECISION_SECONDS = 600;

interface ProviderParts {
  readonly issuer: string;
  readonly adapter: ReturnType<typeof createAdapter>;
  /** A secret from which the signing key is derived. Nothing is signed today, but the metadata names the key. */
  readonly secret: Uint8Array;
  /** The scopes that a resource can use; undefined for an address that is no resource. */
  readonly scopesOf: (resource: string) => readonly string[] | undefined;
  readonly renderError: (error: { readonly error?: string; readonly error_description?: string }) => string;
}

/** Loads the package only now, because most gateways never need it. */
export async function createProvider(parts: ProviderParts): Promise<Provider> {
  const { Provider: Server, errors, interactionPolicy } = await import('oidc-provider');
  const { Check, Prompt } = interactionPolicy;
  const isDecided = ({ oidc }: ProviderContext) => oidc.result?.consent?.grantId !== undefined;
  const always = new Check('decision', 'people decide each time', (context) =>
    isDecided(context) ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT,
  );
  const provider = new Server(parts.issuer, {
    ...SETTINGS,
    adapter: parts.adapter,
    jwks: { keys: [signingKey(parts.secret)] },
    interactions: {
      policy: [new Prompt({ name: 'consent', requestable: true }, always)],
      url: (_: ProviderContext, { jti }: { readonly jti: string }) => `${PATHS.consent}/${jti}`,
    },
    loadExistingGrant: ({ oidc: { result } }: ProviderContext) =>
      result?.consent?.grantId === undefined ? undefined : provider.Grant.find(result.consent.grantId),
    renderError: (context: ProviderContext, error: Parameters<ProviderParts['renderError']>[0]) => {
      context.type = 'html';
      context.body = parts.renderError(error);
    },
    features: {
      ...FEATURES,
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: ({ oidc: { params } }: ProviderContext, resource: string) => {
          const scopes = Array.isArray(params?.resource) ? undefined : parts.scopesOf(resource);
          if (!scopes) throw new errors.InvalidTarget('resource must be the address of one resource of this gateway');
          return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'opaque' };
        },
      },
    },
  });
  provider.AccessToken.prototype.generateTokenId = function accessTokenId() {
    this.format = 'opaque';
    return generateSecret('accessToken');
  };
  provider.RefreshToken.prototype.generateTokenId = () => generateSecret('refreshToken');
  return provider;
}

const OFF = { enabled: false } as const;

const FEATURES = {
  devInteractions: OFF,
  dPoP: OFF,
  pushedAuthorizationRequests: OFF,
  rpInitiatedLogout: OFF,
  userinfo: OFF,
  revocation: { enabled: true, allowedPolicy: isOwn },
  deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', deviceInfo: () => ({}) },
};

function isOwn(_: ProviderContext, client: { clientId: string }, token: { clientId: string }): boolean {
  return client.clientId === token.clientId;
}

const SETTINGS = {
  routes: {
    authorization: PATHS.authorization,
    token: PATHS.token,
    revocation: PATHS.revocation,
    device_authorization: PATHS.deviceAuthorization,
    code_verification: PATHS.device,
    jwks: PATHS.keys,
  },
  clientAuthMethods: ['none'],
  clientDefaults: { id_token_signed_response_alg: 'EdDSA', token_endpoint_auth_method: 'none' },
  enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
  responseTypes: ['code'],
  // Public clients prove nothing by their origin.
  clientBasedCORS: () => true,
  findAccount: (_: ProviderContext, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
  pkce: { required: () => true },
  allowOmittingSingleRegisteredRedirectUri: false,
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  revokeGrantPolicy: () => true,
  // Grants outlast the sign-in in which they were given.
  expiresWithSession: () => false,
  ttl: {
    AccessToken: ACCESS_TOKEN_SECONDS,
    AuthorizationCode: CODE_SECONDS,
    DeviceCode: DECISION_SECONDS,
    Grant: REFRESH_TOKEN_SECONDS,
    IdToken: ACCESS_TOKEN_SECONDS,
    Interaction: DECISION_SECONDS,
    RefreshToken: REFRESH_TOKEN_SECONDS,
    Session: DECISION_SECONDS,
  },
} as const;

/** The beginning of a private key of Ed25519 in DER, which its 32 bytes follow (RFC 8410, section 7). */
const DER = Buffer.from('302e020100300506032b657004220420', 'hex');

function signingKey(secret: Uint8Array): object {
  const key = createPrivateKey({ key: Buffer.concat([DER, secret]), format: 'der', type: 'pkcs8' });
  return { ...key.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' };
}
