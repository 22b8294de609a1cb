import * as oidc from 'openid-client';
import { causesOf } from '../core/causes.ts';
import { DomainError } from '../core/errors.ts';
import type { OidcSettings } from '../core/oidc-settings.ts';
import { type Outbound, OutboundError } from '../core/outbound/outbound.ts';
import { WORK } from '../core/work-budget.ts';
import { type Claims, hasAddress, isOverflow, mergedClaims } from '../domains/identities/public.ts';

/** What must be the same in the callback as when the attempt began. */
export interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/**
 * Why a sign-in has failed: the provider is away or overloaded (`unavailable`), refuses the person (`denied`) or this gateway
 * (`misconfigured`), does not know the code any more (`used`), or sent what cannot be trusted (`untrusted`).
 */
export type OidcFailure = 'unavailable' | 'denied' | 'misconfigured' | 'used' | 'untrusted';

export class OidcError extends Error {
  readonly failure: OidcFailure;

  constructor(failure: OidcFailure, cause: unknown) {
    super(`the sign-in with the identity provider has failed: ${failure}`, { cause });
    this.failure = failure;
  }
}

export interface OidcParts {
  readonly settings: OidcSettings;
  readonly outbound: Pick<Outbound, 'begin' | 'check'>;
  readonly redirectUri: () => string;
  readonly now: () => Date;
}

const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 10_000;
/** Seconds by which the clocks of the provider and the gateway may differ. */
const CLOCK_TOLERANCE = 30;

/** The relying party of one identity provider (OpenID Connect Core 1.0), with the package openid-client. */
export class OidcClient {
  readonly #parts: OidcParts;
  #known: { readonly until: number; readonly configuration: Promise<oidc.Configuration> } | undefined;
  #running = 0;

  constructor(parts: OidcParts) {
    this.#parts = parts;
  }

  /** Reads the metadata of the provider. @throws OidcError; `untrusted` if they contradict the settings. */
  async check(): Promise<void> {
    await this.#bounded(async () => this.#configuration());
  }

  /** The address of the provider to which a browser is sent. @throws OidcError */
  begin({ state, nonce, verifier }: Attempt): Promise<URL> {
    return this.#bounded(async () => {
      const configuration = await this.#configuration();
      const scopes = configuration.serverMetadata().scopes_supported ?? [];
      const groups = this.#parts.settings.groupsClaim !== undefined && scopes.includes('groups') ? ' groups' : '';
      return oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: this.#parts.redirectUri(),
        scope: `openid email profile${groups}`,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    });
  }

  /** Exchanges the code of a callback. @throws OidcError */
  complete(answer: URLSearchParams, { state, nonce, verifier }: Attempt): Promise<Claims> {
    return this.#bounded(async () => {
      const configuration = await this.#configuration();
      const url = new URL(this.#parts.redirectUri());
      url.search = answer.toString();
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new OidcError('untrusted', 'no ID token');
      if (claims.sub === '' || claims.sub.length > 255) throw new OidcError('untrusted', 'unexpected sub');
      // The package compares it only where a token has several audiences.
      if (claims.azp !== undefined && claims.azp !== this.#parts.settings.clientId)
        throw new OidcError('untrusted', 'unexpected azp');
      if (this.#isComplete(claims) || !configuration.serverMetadata().userinfo_endpoint) return claims;
      // Some providers put only the subject into the token.
      const userinfo = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return mergedClaims(claims, userinfo, this.#parts.settings.email);
    });
  }

  /** Whether the ID token says all that the sign-in needs. */
  #isComplete(claims: Claims): boolean {
    const { groupsClaim, email: trust } = this.#parts.settings;
    if (!hasAddress(claims, trust)) return false;
    return groupsClaim === undefined || Object.hasOwn(claims, groupsClaim) || isOverflow(claims, groupsClaim);
  }

  /** Concurrent requests share one discovery. Metadata that cannot be read again are used for another hour. */
  #configuration(): Promise<oidc.Configuration> {
    const at = this.#parts.now().getTime();
    const before = this.#known;
    if (before && before.until > at && before.until <= at + HOUR_MS) return before.configuration;
    const configuration = this.#discover().catch((error: unknown) => {
      if (!before) {
        this.#known = undefined;
        throw error;
      }
      return before.configuration;
    });
    this.#known = { until: at + HOUR_MS, configuration };
    return configuration;
  }

  async #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#parts.settings;
    const server = new URL(issuer);
    const insecure = server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    const configuration = await oidc.discovery(
      server,
      clientId,
      { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE },
      (metadata, ...rest) => {
        const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
        const isBasic = methods.includes('client_secret_basic');
        return (isBasic ? oidc.ClientSecretBasic(clientSecret) : oidc.ClientSecretPost(clientSecret))(
          metadata,
          ...rest,
        );
      },
      {
        execute: [...insecure, oidc.enableNonRepudiationChecks],
        timeout: TIMEOUT_MS / 1000,
        // The package gives what `fetch` takes.
        [oidc.customFetch]: (url, init) => this.#parts.outbound.begin(TIMEOUT_MS).fetch(url, init as RequestInit),
      },
    );
    const { response_types_supported: types = ['code'], code_challenge_methods_supported: methods = ['S256'] } =
      configuration.serverMetadata();
    if (!types.includes('code')) throw new OidcError('untrusted', 'its metadata do not list the response type code');
    if (!methods.includes('S256')) throw new OidcError('untrusted', 'its metadata do not list PKCE with S256');
    return configuration;
  }

  async #bounded<Result>(run: () => Promise<Result>): Promise<Result> {
    if (this.#running >= WORK.oidcAttempts)
      throw new DomainError('unavailable', 'too many people sign in at once; try again in a few seconds', {
        headers: { 'Retry-After': '5' },
      });
    this.#running += 1;
    try {
      return await run();
    } catch (error) {
      throw error instanceof OidcError ? error : new OidcError(failureOf(error), error);
    } finally {
      this.#running -= 1;
    }
  }
}

const TIMEOUTS = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT']);

function failureOf(error: unknown): OidcFailure {
  if (error instanceof oidc.AuthorizationResponseError) return refusalOf(error.error);
  if (error instanceof oidc.ResponseBodyError) {
    if (error.status >= 500) return 'unavailable';
    return error.error === 'invalid_grant' ? 'used' : 'misconfigured';
  }
  const causes = [...causesOf(error)];
  if (causes.some((cause) => cause instanceof OutboundError || isServerError(cause) || isServerError(cause.cause)))
    return 'unavailable';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return TIMEOUTS.has(code) ? 'unavailable' : 'untrusted';
}

/** The package gives the answer as the cause. */
function isServerError(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && 'status' in cause && Number(cause.status) >= 500;
}

function refusalOf(error: string): OidcFailure {
  if (error === 'server_error' || error === 'temporarily_unavailable') return 'unavailable';
  return error === 'access_denied' || error.endsWith('_required') ? 'denied' : 'misconfigured';
}
