import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { type AuditClient, type RequestIdOrigin, auditEntry, recordAudits } from '../../core/audit.ts';
import { unauthenticated } from '../../core/errors.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import type { ApiKeyId, UserId } from '../../core/ids.ts';
import type { Notifier } from '../../core/postgres/notifications.ts';
import { sqlWithin } from '../../core/postgres/reading/sql.ts';
import type { SecretBox } from '../../core/secrets/secrets.ts';
import { apiKeyTopic, beginSignIn, endSignIn } from '../../domains/api-keys/public.ts';
import type { NewSignIn } from '../../domains/identities/public.ts';
import type { ApiKeyLookup, KnownKey } from './api-key-lookup.ts';
import { ORGANIZATION_HEADER } from '../request-headers.ts';
import { cookieName, hasSecureCookies, openCookie, setCookie } from './cookies.ts';
import type { RateLimits } from './rate-limits.ts';

/** The encrypted content of the cookie: the ids of the sign-in and of its key (without one, its own), never the key itself. */
const sessionContent = z.strictObject({ signInId: z.uuid(), keyId: z.uuid() });

/** Cookies are bound to the table that sign-ins were in at first, so that they outlast upgrades. */
const PLACE = { table: 'browser_sign_in', row: 'cookie', field: 'id' };

interface Parts {
  readonly secrets: SecretBox;
  readonly database: { readonly em: Pick<EntityManager, 'fork'> };
  readonly notifier: Pick<Notifier, 'publish'>;
  readonly keys: Pick<ApiKeyLookup, 'bySignIn'>;
  readonly rateLimits: Pick<RateLimits, 'countRequest'> | undefined;
  readonly now: () => Date;
  readonly newId: () => string;
  /** How long a browser stays signed in. */
  readonly signInHours: number;
  /** A function, because the URL is known only after the gateway listens. */
  readonly publicUrl: () => string;
}

/** Whom a sign-in is of, and the key that it was made with. */
interface Begun {
  readonly userId: UserId;
  readonly keyId?: ApiKeyId;
}

/** The request that signs a browser in or out, for the audit log. */
export interface SignInRequest {
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
  readonly client?: AuditClient | undefined;
}

interface SigningIn extends SignInRequest {
  /** The sign-in that the browser had before, which ends. */
  readonly before?: ApiKeyId | undefined;
}

/**
 * Signs browsers in with a cookie that scripts cannot read. It contains the id of a sign-in, and is encrypted like stored secrets, so that it
 * cannot be forged. The sign-in is a credential with the rights of the key that it was made with. It is looked up on every request, so that a
 * sign-out ends all copies of the cookie, and a revoked key all of its sign-ins, at once.
 */
export class BrowserSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Signs a browser in, in whatever way: `begin` stores the sign-in in a transaction, which also counts it toward the limits of
   * the person, and ends the one before. If there are too many, nothing has changed.
   * @throws DomainError (429)
   */
  async start<Result extends Begun>(
    begin: (em: EntityManager, signIn: NewSignIn) => Promise<Result>,
    { before, ...request }: SigningIn,
  ): Promise<Result & { readonly signInId: ApiKeyId; readonly cookie: string }> {
    const { database, rateLimits, secrets, notifier, keys, now, newId, signInHours } = this.#parts;
    const seconds = signInHours * 3600;
    const known = before === undefined ? undefined : await keys.bySignIn(before);
    const signIn = { id: newId(), expiresAt: new Date(now().getTime() + seconds * 1000) };
    const begun = await database.em.fork().transactional(async (em) => {
      const result = await begin(em, signIn);
      const sender = { keyId: signIn.id, userId: result.userId, kind: 'SIGN_IN' as const };
      await rateLimits?.countRequest(sender, { transaction: sqlWithin(em) });
      if (known) await this.#end(em, known, request);
      return result;
    });
    if (known) notifier.publish(apiKeyTopic(known.keyId));
    const content = { signInId: signIn.id, keyId: begun.keyId ?? signIn.id };
    const sealed = await secrets.seal(JSON.stringify(content), PLACE);
    return { ...begun, signInId: signIn.id, cookie: this.#cookie(sealed, seconds) };
  }

  /** Signs a browser in with a key. @returns the `Set-Cookie` header. @throws DomainError (401) for a key that was revoked meanwhile; 429 */
  async startWithKey(known: KnownKey, request: SigningIn): Promise<string> {
    const { keyId, userId } = known;
    const { cookie } = await this.start(async (em, signIn) => {
      if (!(await beginSignIn(em, { ...signIn, keyId, at: this.#parts.now() }))) throw unauthenticated();
      await recordAudits(em, this.#entries('signIn', known, request));
      return { userId, keyId };
    }, request);
    return cookie;
  }

  /** Signs the browser out that sent these headers. @returns the `Set-Cookie` header. */
  async end(headers: HttpHeaders, request: SignInRequest): Promise<string> {
    const known = await this.find(headers);
    if (known && known.refusal === null) {
      const { database, notifier } = this.#parts;
      await database.em.fork().transactional((em) => this.#end(em, known, request));
      notifier.publish(apiKeyTopic(known.keyId));
    }
    return this.#cookie('', 0);
  }

  async #end(em: EntityManager, known: KnownKey, request: SignInRequest): Promise<void> {
    if (await endSignIn(em, known.keyId, this.#parts.now()))
      await recordAudits(em, this.#entries('signOut', known, request));
  }

  /** The sign-in that the cookie of a request names. It does not check where the request comes from. */
  async idOf(headers: HttpHeaders): Promise<ApiKeyId | undefined> {
    const text = await openCookie(this.#parts.secrets, headers, this.#name, PLACE);
    return text === undefined ? undefined : sessionContent.parse(JSON.parse(text)).signInId;
  }

  /** The sign-in of a browser, which may have ended. The same holds as for `idOf`. */
  async find(headers: HttpHeaders): Promise<KnownKey | undefined> {
    const signInId = await this.idOf(headers);
    return signInId === undefined ? undefined : this.#parts.keys.bySignIn(signInId);
  }

  /** One for each organization in which the key acts. */
  #entries(operation: 'signIn' | 'signOut', known: KnownKey, { requestId, requestIdOrigin, client }: SignInRequest) {
    const { now, newId } = this.#parts;
    const keyId = known.signedInWithId ?? known.keyId;
    const target = { type: 'ApiKey' as const, id: keyId, ...(operation === 'signIn' && { detail: 'KEY' }) };
    const organizations = known.organizations.length > 0 ? known.organizations : [undefined];
    return organizations.map((organization) =>
      auditEntry({ now, newId, requestId, requestIdOrigin, client, actor: { keyId, organization } }, operation, target),
    );
  }

  /**
   * Whether a page of the gateway sent the request. Browsers send `Sec-Fetch-Site`, or, without a trustworthy connection, `Origin` (Fetch
   * Metadata, section 2.4). A request with neither header is refused.
   */
  isSameOrigin(headers: HttpHeaders): boolean {
    const site = headers.get('sec-fetch-site');
    if (site !== null) return site === 'same-origin';
    const origin = headers.get('origin');
    if (origin === null) return false;
    // A gateway on the same machine can be opened by another host name than the configured one.
    const isHere = !this.#isSecure && hostOf(origin) === headers.get('host');
    return isHere || origin === new URL(this.#parts.publicUrl()).origin;
  }

  /**
   * The same for a request to an API. Without a trustworthy connection browsers send neither header on GET, such as for the file that a page
   * saves. Only a page of the same origin can send the header of the gateway without `Origin`.
   */
  isOfPage(headers: HttpHeaders): boolean {
    const saysNothing = !headers.has('sec-fetch-site') && !headers.has('origin');
    return saysNothing ? headers.has(ORGANIZATION_HEADER) : this.isSameOrigin(headers);
  }

  get #isSecure(): boolean {
    return hasSecureCookies(this.#parts.publicUrl());
  }

  get #name(): string {
    return cookieName('workspace_session', this.#isSecure);
  }

  #cookie(value: string, maxAge: number): string {
    return setCookie(this.#name, value, { maxAge, sameSite: 'Strict', isSecure: this.#isSecure });
  }
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
