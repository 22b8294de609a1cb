import { z } from 'zod';
import type { HttpHeaders } from '../../core/http/messages.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';

/** How long a browser stays signed in. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** The encrypted content of the cookie: the id of a key, never the key itself. */
const sessionContent = z.strictObject({ keyId: z.uuid(), expiresAt: z.iso.datetime() });

const PLACE = { table: 'browser_session', row: 'cookie', field: 'api_key' };

interface Parts {
  readonly secrets: SecretBox;
  readonly now: () => Date;
  /** A function, because the URL is known only after the gateway listens. */
  readonly publicUrl: () => string;
}

/**
 * Signs browsers in with a cookie that scripts cannot read. It contains the id of an API key, and is encrypted like
 * stored secrets, so that it cannot be forged. The key is looked up on every request, so that a revoked key ends the
 * session at once.
 */
export class BrowserSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The `Set-Cookie` header that signs a browser in with a key. */
  async start(keyId: ApiKeyId): Promise<string> {
    const { secrets, now } = this.#parts;
    const expiresAt = new Date(now().getTime() + SESSION_SECONDS * 1000).toISOString();
    return this.#cookie(await secrets.seal(JSON.stringify({ keyId, expiresAt }), PLACE), SESSION_SECONDS);
  }

  /** The `Set-Cookie` header that signs a browser out. */
  end(): string {
    return this.#cookie('', 0);
  }

  /** The key id in the cookie of a request; undefined without a valid cookie. It does not check where the request comes from. */
  async keyIdOf(headers: HttpHeaders): Promise<ApiKeyId | undefined> {
    const { secrets, now } = this.#parts;
    const sealed = cookieOf(headers, this.#name);
    if (!sealed) return undefined;
    const text = await secrets.open(sealed, PLACE).catch((error: unknown) => {
      if (error instanceof SecretError) return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const { keyId, expiresAt } = sessionContent.parse(JSON.parse(text));
    return new Date(expiresAt) > now() ? keyId : undefined;
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
