import { timingSafeEqual } from 'node:crypto';
import * as oidc from 'openid-client';
import { z } from 'zod';
import { settleChanges } from '../core/authority.ts';
import { ConfigurationError } from '../core/config.ts';
import type { HttpHeaders } from '../core/http/messages.ts';
import { type OidcSettings, oidcSettings } from '../core/oidc-settings.ts';
import { OutboundError } from '../core/outbound/outbound.ts';
import { NotFoundError, causesOf } from '../core/errors.ts';
import type { ApiKeyId } from '../core/ids.ts';
import { apiKeyTopic, placeOfIdToken, readIdToken } from '../domains/api-keys/public.ts';
import {
  RefusedIdentityError,
  endProviderSessions,
  recordRefusedSignIn,
  revokeLeftovers,
  signInIdentity,
  signInWithLink,
  useState,
} from '../domains/identities/public.ts';
import { Organization } from '../domains/organizations/public.ts';
import type { SignInRequest } from './admission/browser-session.ts';
import { cookieName, hasSecureCookies, openCookie, setCookie } from './admission/cookies.ts';
import { type Dependencies, publicUrlOf } from './dependencies.ts';
import { type Attempt, OidcClient, type ProvenClaims, isContradiction } from './oidc-client.ts';

/** What the browser keeps of an attempt, encrypted. */
const attemptContent = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  expiresAt: z.number(),
  /** The sign-in of the browser, whose cookie is not sent to the callback. Absent in attempts that an earlier version began. */
  before: z.uuid().optional(),
});

const PLACE = { table: 'sign_in_attempt', row: 'cookie', field: 'content' };
/** A longer ID token is no hint: it does not fit into an address. */
const MAX_HINT = 6_000;
const ATTEMPT_SECONDS = 10 * 60;
/** Attempts of one browser at once, such as in several tabs. Each has a cookie. */
const ATTEMPTS = 4;
export const CALLBACK = '/sign-in/oidc/callback';

/** The attempt is unknown to the browser, has expired, or was completed before. */
export class LostAttemptError extends Error {}

/** An attempt of a browser, and the name of its cookie. */
export interface KnownAttempt {
  readonly name: string;
  readonly attempt: z.infer<typeof attemptContent>;
}

/** A person who has signed in: the cookies to set, where to go on, and what they should know. */
export interface SignedInPerson {
  readonly cookie: string;
  readonly next: string;
  readonly notice?: string | undefined;
}

/** Signs people in without a key: with the identity provider, or with a one-time link. */
export class CompanySignIn {
  readonly #dependencies: Dependencies;
  readonly #client: OidcClient | undefined;
  readonly settings: OidcSettings | undefined;

  constructor(dependencies: Dependencies) {
    const { config, outbound, now } = dependencies;
    this.#dependencies = dependencies;
    this.settings = oidcSettings(config);
    const redirectUri = () => publicUrlOf(dependencies) + CALLBACK;
    this.#client = this.settings && new OidcClient({ settings: this.settings, outbound, redirectUri, now });
  }

  /** Reads the metadata of the provider at the start. One that is away does not stop it. @throws ConfigurationError */
  async check(): Promise<void> {
    await this.#checkOrganization();
    try {
      await this.#client?.check();
    } catch (error) {
      const cause = [...causesOf(error)].at(-1);
      const why = cause instanceof Error ? cause.message.replaceAll(/\s+/g, ' ').slice(0, 300) : String(cause);
      const isRefused = [...causesOf(error)].some((each) => each instanceof OutboundError && !each.isTemporary);
      if (isRefused || isContradiction(error)) throw new ConfigurationError(`OIDC_ISSUER: ${why}`, { cause: error });
      this.#dependencies.log.warn(
        { err: error },
        'the identity provider cannot be reached; people cannot sign in with it yet',
      );
    }
  }

  async #checkOrganization(): Promise<void> {
    const { database, log } = this.#dependencies;
    const slug = this.settings?.organization;
    if (slug === undefined || (await database.em.fork().count(Organization, { slug })) > 0) return;
    log.warn(
      { slug },
      'the organization of OIDC_ORGANIZATION does not exist, so nobody joins it; create it with the command keys create',
    );
  }

  /** Begins an attempt. @returns the address of the provider, and the cookie of the attempt. @throws OidcError */
  async begin(headers: HttpHeaders, next: string): Promise<{ readonly location: string; readonly cookie: string }> {
    const { browserSessions, secrets, now } = this.#dependencies;
    const attempt: Attempt = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    };
    const location = await this.#required().begin(attempt);
    const expiresAt = now().getTime() + ATTEMPT_SECONDS * 1000;
    const before = await browserSessions.idOf(headers);
    const sealed = await secrets.seal(JSON.stringify({ ...attempt, next, expiresAt, before }), PLACE);
    const cookie = this.#cookie(await this.#nameOfNext(headers, attempt.state), sealed, ATTEMPT_SECONDS);
    return { location: location.href, cookie };
  }

  /** Completes the attempt of a browser. @throws LostAttemptError; OidcError; RefusedIdentityError */
  async complete(
    { attempt: { next, expiresAt, before, ...attempt } }: KnownAttempt,
    answer: URLSearchParams,
    request: SignInRequest,
  ): Promise<SignedInPerson> {
    const { sql, browserSessions, database, notifier, now, newId, hasOlderProcess } = this.#dependencies;
    const context = { now, newId, hasOlderProcess, ...request };
    if (!(await useState(sql, attempt.state, new Date(expiresAt)))) throw new LostAttemptError('used');
    const proven = await this.#required().complete(answer, attempt);
    const { claims } = proven;
    const settings = this.#settings();
    const { userId, signInId, cookie, notice, isDemoted, revoked } = await browserSessions
      .start(
        async (em, begun) => {
          const signIn = { ...begun, ...(await this.#keptOf(begun.id, proven)) };
          return signInIdentity(em, context, { claims, settings, signIn });
        },
        { ...request, before },
      )
      .catch(async (error: unknown) => {
        if (error instanceof RefusedIdentityError) await this.#recordRefusal(error, claims.sub, request);
        throw error;
      });
    if (isDemoted || revoked) await settleChanges(sql, [userId]);
    if (revoked) {
      const left = { userId, signInId, at: now() };
      const more = await database.em.fork().transactional((em) => revokeLeftovers(em, left));
      for (const keyId of [...revoked, ...more]) notifier.publish(apiKeyTopic(keyId));
    }
    return { cookie, next, notice };
  }

  /** What a sign-in keeps of the provider, to end the session there. */
  async #keptOf(id: ApiKeyId, { claims: { sid }, idToken }: ProvenClaims) {
    if (!this.#settings().logout) return {};
    const sealed =
      idToken.length > MAX_HINT ? null : await this.#dependencies.secrets.seal(idToken, placeOfIdToken(id));
    return { providerSession: typeof sid === 'string' ? sid : null, idToken: sealed };
  }

  /** Where the browser ends the session at the provider after a sign-out; undefined if that is not needed. @throws OidcError */
  async endOf(id: ApiKeyId): Promise<string | undefined> {
    const { sql, secrets } = this.#dependencies;
    const sealed = this.settings?.logout ? await readIdToken(sql, id) : undefined;
    if (sealed == null) return undefined;
    const idToken = await secrets.open(sealed, placeOfIdToken(id));
    return (await this.#required().endOf(idToken, `${publicUrlOf(this.#dependencies)}/sign-in`))?.href;
  }

  /** Ends what a logout token of the provider names. @throws OidcError; NotFoundError without OIDC_LOGOUT */
  async logOut(token: string, request: SignInRequest): Promise<void> {
    if (!this.settings?.logout) throw new NotFoundError('page not found');
    const { database, sql, notifier, now, newId } = this.#dependencies;
    const logout = { ...(await this.#required().readLogout(token)), issuer: this.settings.issuer };
    const ended = await database.em
      .fork()
      .transactional((em) => endProviderSessions(em, { now, newId, ...request }, logout));
    await settleChanges(
      sql,
      ended.map(({ userId }) => userId),
    );
    for (const { id } of ended) notifier.publish(apiKeyTopic(id));
  }

  /** If the entry cannot be written, the answer stays the same. */
  async #recordRefusal({ message }: RefusedIdentityError, subject: string, request: SignInRequest): Promise<void> {
    const { database, now, newId, log } = this.#dependencies;
    const refused = { subject, settings: this.#settings(), message };
    await recordRefusedSignIn(database.em.fork(), { now, newId, ...request }, refused).catch((error: unknown) =>
      log.warn({ err: error }, 'a refused sign-in could not be recorded in the audit log'),
    );
  }

  /** Signs in with a one-time link. @returns the `Set-Cookie` header. @throws DomainError (401) for a link that does not work */
  async redeem(token: string, headers: HttpHeaders, request: SignInRequest): Promise<string> {
    const { browserSessions, now, newId } = this.#dependencies;
    const { cookie } = await browserSessions.start(
      (em, signIn) => signInWithLink(em, { now, newId, ...request }, { token, signIn }),
      { ...request, before: await browserSessions.idOf(headers) },
    );
    return cookie;
  }

  /** The attempt of a browser that an answer of the provider belongs to. @throws LostAttemptError */
  async attemptOf(headers: HttpHeaders, answer: URLSearchParams): Promise<KnownAttempt> {
    const [state = '', ...others] = answer.getAll('state');
    const attempts = await this.#attemptsOf(headers);
    const known = attempts.find(({ attempt }) => isEqual(state, attempt.state));
    if (!known || others.length > 0) throw new LostAttemptError('state');
    return known;
  }

  /** The cookie that ends an attempt. */
  endAttempt({ name }: KnownAttempt): string {
    return this.#cookie(name, '', 0);
  }

  /** The open attempts of a browser. */
  async #attemptsOf(headers: HttpHeaders): Promise<KnownAttempt[]> {
    const { secrets, now } = this.#dependencies;
    const attempts: KnownAttempt[] = [];
    for (const name of this.#names) {
      const text = await openCookie(secrets, headers, name, PLACE);
      if (text === undefined) continue;
      const attempt = attemptContent.parse(JSON.parse(text));
      if (attempt.expiresAt > now().getTime()) attempts.push({ name, attempt });
    }
    return attempts;
  }

  /** The cookie of a new attempt: a free one, chosen by the state, since two tabs may begin at once; else that of the oldest attempt. */
  async #nameOfNext(headers: HttpHeaders, state: string): Promise<string> {
    const attempts = await this.#attemptsOf(headers);
    const free = this.#names.filter((each) => attempts.every(({ name }) => name !== each));
    const [oldest] = attempts.toSorted((one, other) => one.attempt.expiresAt - other.attempt.expiresAt);
    return free[state.charCodeAt(0) % free.length] ?? oldest?.name ?? '';
  }

  #required(): OidcClient {
    if (!this.#client) throw new Error('there is no identity provider');
    return this.#client;
  }

  #settings(): OidcSettings {
    if (!this.settings) throw new Error('there is no identity provider');
    return this.settings;
  }

  get #isSecure(): boolean {
    return hasSecureCookies(publicUrlOf(this.#dependencies));
  }

  get #names(): readonly string[] {
    return Array.from({ length: ATTEMPTS }, (_, index) => cookieName(`workspace_sign_in_${index}`, this.#isSecure));
  }

  /** `Lax`, because the provider leads the browser to the callback. */
  #cookie(name: string, value: string, maxAge: number): string {
    return setCookie(name, value, { maxAge, sameSite: 'Lax', isSecure: this.#isSecure });
  }
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
