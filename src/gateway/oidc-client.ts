import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { DomainError, causesOf } from '../core/errors.ts';
import { isObject } from '../core/is-object.ts';
import type { OidcSettings } from '../core/oidc-settings.ts';
import { LargeAnswerError, type Outbound, OutboundError } from '../core/outbound/outbound.ts';
import { WORK } from '../core/work-budget.ts';
import { type Claims, hasAddress, isOverflow, isSubject, mergedClaims } from '../domains/identities/public.ts';

/** What must be the same in the callback as when the attempt began. */
export interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/**
 * Why a sign-in has failed: the provider is away or overloaded (`unavailable`), refuses the person (`denied`) or this gateway
 * (`misconfigured`), does not know the code any more (`used`), or sent what is too large (`tooLarge`) or cannot be trusted (`untrusted`).
 */
export type OidcFailure = 'unavailable' | 'denied' | 'misconfigured' | 'used' | 'tooLarge' | 'untrusted';

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

/** The claims of a person, and the ID token that has proven them. */
export interface ProvenClaims {
  readonly claims: Claims;
  readonly idToken: string;
}

/** What a logout token ends: a session, or all of a subject. */
export interface Logout {
  readonly id: string;
  readonly subject: string | undefined;
  readonly session: string | undefined;
  readonly expiresAt: Date;
}

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 10_000;
/** Seconds by which the clocks of the provider and the gateway may differ. */
const CLOCK_TOLERANCE = 30;

/** The relying party of one identity provider (OpenID Connect Core 1.0), with the package openid-client. */
export class OidcClient {
  readonly #parts: OidcParts;
  #known: { readonly until: number; readonly configuration: Promise<oidc.Configuration> } | undefined;
  /** The answers of the token endpoint to attempts that are not completed yet, by their verifier. */
  readonly #answers = new Map<string, Response>();
  #keys: { readonly address: string; readonly keys: ReturnType<typeof createRemoteJWKSet> } | undefined;
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
  complete(answer: URLSearchParams, { state, nonce, verifier }: Attempt): Promise<ProvenClaims> {
    return this.#bounded(async () => {
      let configuration = await this.#configuration();
      const url = new URL(this.#parts.redirectUri());
      url.search = answer.toString();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const grant = () => oidc.authorizationCodeGrant(configuration, url, checks);
      const tokens = await grant()
        .catch(async (error: unknown) => {
          if (!isOfSignature(error)) throw error;
          // The provider may have other keys or algorithms than when its metadata were read. The code is used, but its answer is known.
          this.#known = this.#known && { ...this.#known, until: 0 };
          configuration = await this.#configuration();
          return grant();
        })
        .finally(() => this.#answers.delete(verifier));
      const claims = tokens.claims();
      if (!claims) throw new OidcError('untrusted', 'no ID token');
      // The package compares it with nothing.
      if (claims.iat * 1000 > this.#parts.now().getTime() + CLOCK_TOLERANCE * 1000)
        throw new OidcError('untrusted', 'iat is in the future');
      if (!isSubject(claims.sub)) throw new OidcError('untrusted', 'unexpected sub');
      // The package compares it only where a token has several audiences.
      if (claims.azp !== undefined && claims.azp !== this.#parts.settings.clientId)
        throw new OidcError('untrusted', 'unexpected azp');
      const idToken = tokens.id_token ?? '';
      if (this.#isComplete(claims) || !configuration.serverMetadata().userinfo_endpoint) return { claims, idToken };
      // Some providers put only the subject into the token.
      const userinfo = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { claims: mergedClaims(claims, userinfo, this.#parts.settings.email), idToken };
    });
  }

  /** The address that ends the session at the provider; undefined where it has none. @throws OidcError */
  endOf(idToken: string, returnTo: string): Promise<URL | undefined> {
    return this.#bounded(async () => {
      const configuration = await this.#configuration();
      const { end_session_endpoint: address } = configuration.serverMetadata();
      if (!isAddress(address, new URL(this.#parts.settings.issuer).protocol)) return undefined;
      return oidc.buildEndSessionUrl(configuration, { id_token_hint: idToken, post_logout_redirect_uri: returnTo });
    });
  }

  /** Checks a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6). @throws OidcError */
  readLogout(token: string): Promise<Logout> {
    return this.#bounded(async () => {
      const { issuer, clientId: audience } = this.#parts.settings;
      const metadata = (await this.#configuration()).serverMetadata();
      const { id_token_signing_alg_values_supported: algorithms = ['RS256'] } = metadata;
      const { payload, protectedHeader } = await jwtVerify(token, this.#keysAt(metadata.jwks_uri ?? ''), {
        issuer,
        audience,
        // Whoever knows the secret of the client could sign with the others.
        algorithms: algorithms.filter((name) => !/^(?:none|HS\d+)$/.test(name)),
        requiredClaims: ['iat', 'exp', 'jti'],
        maxTokenAge: '1 hour',
        clockTolerance: CLOCK_TOLERANCE,
        currentDate: this.#parts.now(),
      });
      const { sub, sid, jti = '', exp = 0, events, nonce } = payload;
      const isTyped = protectedHeader.typ === undefined || /^(?:logout\+jwt|JWT)$/i.test(protectedHeader.typ);
      const isLogout = isObject(events) && isObject(events[LOGOUT_EVENT]);
      if (!isTyped || !isLogout || nonce !== undefined) throw new OidcError('untrusted', 'no logout token');
      if (sid !== undefined && typeof sid !== 'string') throw new OidcError('untrusted', 'unexpected sid');
      if (sub === undefined && sid === undefined) throw new OidcError('untrusted', 'neither sub nor sid');
      return { id: jti, subject: sub, session: sid, expiresAt: new Date(exp * 1000) };
    });
  }

  /** The keys of the provider, which are read again where a token names another one. */
  #keysAt(address: string): ReturnType<typeof createRemoteJWKSet> {
    if (this.#keys?.address !== address) {
      // The package gives what `fetch` takes.
      const read = (url: string, init: unknown) => this.#send(url, init as RequestInit);
      const keys = createRemoteJWKSet(new URL(address), { timeoutDuration: TIMEOUT_MS, [customFetch]: read });
      this.#keys = { address, keys };
    }
    return this.#keys.keys;
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
    const { issuer, clientId, clientSecret, tokenAuth } = this.#parts.settings;
    const server = new URL(issuer);
    const insecure = server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    const configuration = await oidc.discovery(
      server,
      clientId,
      { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE },
      (metadata, ...rest) => {
        const isBasic = tokenAuth ? tokenAuth === 'basic' : methodsOf(metadata).includes('client_secret_basic');
        return (isBasic ? basic(clientSecret) : oidc.ClientSecretPost(clientSecret))(metadata, ...rest);
      },
      {
        execute: [...insecure, oidc.enableNonRepudiationChecks],
        timeout: TIMEOUT_MS / 1000,
        // The package gives what `fetch` takes.
        [oidc.customFetch]: (url, init) => this.#send(url, init as RequestInit),
      },
    );
    const fault = faultOf(configuration.serverMetadata(), server.protocol);
    if (fault) throw new OidcError('untrusted', new Error(`its metadata ${fault}`));
    return configuration;
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    const verifier = init.body instanceof URLSearchParams ? init.body.get('code_verifier') : null;
    const known = verifier === null ? undefined : this.#answers.get(verifier);
    if (known) return known;
    const response = await this.#parts.outbound.begin(TIMEOUT_MS).fetch(url, init);
    if (verifier !== null && response.ok) this.#answers.set(verifier, response.clone());
    return response;
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

/** As a form encodes it (RFC 6749, section 2.3.1). The package also encodes `-`, `_` and `.`, which some providers do not decode. */
function basic(secret: string): oidc.ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length);
  return (_, { client_id: id }, __, headers) =>
    headers.set('Authorization', `Basic ${btoa(`${encoded(id)}:${encoded(secret)}`)}`);
}

const methodsOf = ({ token_endpoint_auth_methods_supported: methods }: Readonly<oidc.ServerMetadata>) =>
  methods ?? ['client_secret_basic'];

const isAddress = (address: string | undefined, protocol: string): boolean =>
  address !== undefined && URL.canParse(address) && ['https:', protocol].includes(new URL(address).protocol);

/** What the sign-in needs of the metadata and they lack. Browsers are sent to the first address. */
function faultOf(metadata: Readonly<oidc.ServerMetadata>, protocol: string): string | undefined {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    if (!isAddress(metadata[name], protocol)) return `have no valid ${name}`;
  }
  const { response_types_supported: types = ['code'], code_challenge_methods_supported: methods = ['S256'] } = metadata;
  if (!types.includes('code')) return 'do not list the response type code';
  if (metadata.require_pushed_authorization_requests === true) return 'demand pushed authorization requests (PAR)';
  if (!methodsOf(metadata).some((method) => SECRET_METHODS.has(method)))
    return 'list neither client_secret_basic nor client_secret_post';
  return methods.includes('S256') ? undefined : 'do not list PKCE with S256';
}

/** Whether a token was refused for its algorithm or because its key is unknown. The package gives its header as the cause. */
function isOfSignature(error: unknown): boolean {
  const found = causesOf(error).map(({ cause }) => cause);
  return found.some((cause) => typeof cause === 'object' && cause !== null && 'header' in cause);
}

const SECRET_METHODS = new Set(['client_secret_basic', 'client_secret_post']);

function failureOf(error: unknown): OidcFailure {
  if (error instanceof oidc.AuthorizationResponseError) return refusalOf(error.error);
  if (causesOf(error).some(isTooLarge)) return 'tooLarge';
  const isAway = causesOf(error).some((cause) => cause instanceof OutboundError || TIMEOUTS.has(cause.name));
  const status = statusOf(error) ?? 0;
  if (isAway || status >= 500 || OVERLOADED.has(status)) return 'unavailable';
  if (error instanceof oidc.WWWAuthenticateChallengeError) return 'misconfigured';
  if (!(error instanceof oidc.ResponseBodyError)) return 'untrusted';
  return error.error === 'invalid_grant' ? 'used' : 'misconfigured';
}

/** Whether the body or the headers of an answer were too large. */
const isTooLarge = (cause: Error): boolean =>
  cause instanceof LargeAnswerError || ('code' in cause && /^\w+_HEADERS?_OVERFLOW$/.test(String(cause.code)));

/** The names of the reasons of signals. */
const TIMEOUTS = new Set(['TimeoutError', 'AbortError']);
/** The provider did not wait for the request, or has refused one of too many. */
const OVERLOADED = new Set([408, 429]);

/** The status of the answer of the provider, which the package gives as a cause. */
function statusOf(error: unknown): number | undefined {
  const answers: unknown[] = causesOf(error).flatMap((cause) => [cause, cause.cause]);
  for (const answer of answers)
    if (typeof answer === 'object' && answer !== null && 'status' in answer) return Number(answer.status);
  return undefined;
}

/** Errors of the package about metadata that it could not read. */
const UNREADABLE = new Set(['OAUTH_PARSE_ERROR', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_RESPONSE_IS_NOT_CONFORM']);

/** Whether the provider has answered that the settings are wrong: with metadata that contradict them, or with 404. */
export function isContradiction(error: unknown): boolean {
  if (!(error instanceof OidcError) || ['unavailable', 'tooLarge'].includes(error.failure)) return false;
  const isUnreadable = causesOf(error).some((cause) => 'code' in cause && UNREADABLE.has(String(cause.code)));
  return !isUnreadable || statusOf(error) === 404;
}

function refusalOf(error: string): OidcFailure {
  if (error === 'server_error' || error === 'temporarily_unavailable') return 'unavailable';
  return error === 'access_denied' || error.endsWith('_required') ? 'denied' : 'misconfigured';
}
