import { z } from 'zod';
import { type RequestIdOrigin, auditEntry } from '../../core/audit.ts';
import type { HttpHeaders } from '../../core/http/messages.ts';
import type { SignInId } from '../../core/ids.ts';
import type { Notifier } from '../../core/postgres/notifications.ts';
import { signInTopic } from '../../core/live-tails.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';
import type { ApiKeyLookup, KnownKey } from './api-key-lookup.ts';
import { beginSignIn, endSignIn } from './browser-sign-ins.ts';

/** How long a browser stays signed in. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** The encrypted content of the cookie: the ids of the sign-in and of its key, never the key itself. */
const sessionContent = z.strictObject({ signInId: z.uuid(), keyId: z.uuid() });

const PLACE = { table: 'browser_sign_in', row: 'cookie', field: 'id' };

interface Parts {
  readonly secrets: SecretBox;
  readonly sql: Sql;
  readonly notifier: Pick<Notifier, 'publish'>;
  readonly keys: Pick<ApiKeyLookup, 'bySignIn'>;
  readonly now: () => Date;
  readonly newId: () => string;
  /** A function, because the URL is known only after the gateway listens. */
  readonly publicUrl: () => string;
}

/** The request that signs a browser in or out, for the audit log. */
export interface SignInRequest {
  readonly requestId: string;
  readonly requestIdOrigin: RequestIdOrigin;
}

/** A browser that is signed in, with its key, which may have been revoked since. */
export interface SignedIn {
  readonly signInId: SignInId;
  readonly known: KnownKey;
}

/**
 * Signs browsers in with a cookie that scripts cannot read. It contains the ids of a sign-in and of its API key, and is
 * encrypted like stored secrets, so that it cannot be forged. One statement looks up the sign-in and the key on every
 * request, so that a sign-out ends all copies of the cookie, and a revoked key all of its sign-ins, at once.
 */
export class BrowserSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The id of a new sign-in. */
  newId(): SignInId {
    return this.#parts.newId();
  }

  /** Signs a browser in with a key. @returns the `Set-Cookie` header. */
  async start(signInId: SignInId, known: KnownKey, request: SignInRequest): Promise<string> {
    const { secrets, sql, now } = this.#parts;
    const { keyId } = known;
    const at = now();
    const expiresAt = new Date(at.getTime() + SESSION_SECONDS * 1000);
    await sql.all(beginSignIn({ id: signInId, keyId, at, expiresAt }, this.#entry('signIn', known, request)));
    return this.#cookie(await secrets.seal(JSON.stringify({ signInId, keyId }), PLACE), SESSION_SECONDS);
  }

  /** Signs the browser out that sent these headers. @returns the `Set-Cookie` header. */
  async end(headers: HttpHeaders, request: SignInRequest): Promise<string> {
    const { signInId, known } = (await this.find(headers)) ?? {};
    if (signInId !== undefined && known) {
      const { sql, notifier } = this.#parts;
      await sql.all(endSignIn(signInId, this.#entry('signOut', known, request)));
      notifier.publish(signInTopic(signInId));
    }
    return this.#cookie('', 0);
  }

  /** The sign-in that the cookie of a request names. It does not check where the request comes from. */
  async idOf(headers: HttpHeaders): Promise<SignInId | undefined> {
    const sealed = cookieOf(headers, this.#name);
    if (!sealed) return undefined;
    const text = await this.#parts.secrets.open(sealed, PLACE).catch((error: unknown) => {
      if (error instanceof SecretError) return undefined;
      throw error;
    });
    return text === undefined ? undefined : sessionContent.parse(JSON.parse(text)).signInId;
  }

  /** The sign-in of a browser, while it lasts. The same holds as for `idOf`, and the key may be revoked. */
  async find(headers: HttpHeaders): Promise<SignedIn | undefined> {
    const signInId = await this.idOf(headers);
    const known = signInId === undefined ? undefined : await this.#parts.keys.bySignIn(signInId);
    return signInId !== undefined && known ? { signInId, known } : undefined;
  }

  /** An unbound key signs in for all organizations of its user; the entry names one only when it is the only one. */
  #entry(operation: 'signIn' | 'signOut', { keyId, organizations }: KnownKey, request: SignInRequest) {
    const { now, newId } = this.#parts;
    const organization = organizations.length === 1 ? organizations[0] : undefined;
    return auditEntry({ now, newId, ...request, actor: { keyId, organization } }, operation, {
      type: 'ApiKey',
      id: keyId,
    });
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

  get #isSecure(): boolean {
    return this.#parts.publicUrl().startsWith('https:');
  }

  /** With the prefix `__Host-`, subdomains and plain HTTP cannot set the cookie (RFC 6265bis, section 4.1.3.2). */
  get #name(): string {
    return this.#isSecure ? '__Host-workspace_session' : 'workspace_session';
  }

  #cookie(value: string, maxAge: number): string {
    const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict`;
    return `${this.#name}=${value}; ${attributes}${this.#isSecure ? '; Secure' : ''}`;
  }
}

function cookieOf(headers: HttpHeaders, name: string): string | undefined {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
