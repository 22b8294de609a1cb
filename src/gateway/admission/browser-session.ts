import { z } from 'zod';
import type { HttpHeaders } from '../../core/http/messages.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';

/** How long a browser stays signed in. */
export const SESSION_SECONDS = 12 * 60 * 60;

/** What is sealed in the cookie: the id of a key, never the key. */
const sessionContent = z.strictObject({ keyId: z.uuid(), expiresAt: z.iso.datetime() });

const PLACE = { table: 'browser_session', row: 'cookie', field: 'api_key' };

/**
 * Signs browsers in: a cookie that scripts cannot read names an API key by its id. It is encrypted like stored secrets, so that nobody
 * can make one. The key is looked up on every request, so a revoked key ends the session at once.
 */
export interface BrowserSessions {
  /** The `Set-Cookie` header that signs a browser in with a key. */
  start(keyId: ApiKeyId): Promise<string>;
  /** The `Set-Cookie` header that signs a browser out. */
  end(): string;
  /** The id of the key that a request's cookie names; undefined without a valid cookie. It does not check where the request comes from. */
  keyIdOf(headers: HttpHeaders): Promise<string | undefined>;
  /**
   * Whether a page of the gateway itself sent the request. Browsers say so in `Sec-Fetch-Site`, or, where they do not trust the connection,
   * in `Origin` (Fetch Metadata, section 2.4). A request that has neither is not known to come from a page, so it is refused.
   */
  isSameOrigin(headers: HttpHeaders): boolean;
}

export function createBrowserSessions({
  secrets,
  now,
  publicUrl,
}: {
  readonly secrets: SecretBox;
  readonly now: () => Date;
  /** Known only once the gateway listens. */
  readonly publicUrl: () => string;
}): BrowserSessions {
  const isSecure = () => publicUrl().startsWith('https:');
  // The prefix keeps subdomains and plain HTTP from setting the cookie (RFC 6265bis, section 4.1.3.2).
  const name = () => (isSecure() ? '__Host-workspace_session' : 'workspace_session');
  const cookie = (value: string, maxAge: number) =>
    `${name()}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure() ? '; Secure' : ''}`;

  return {
    async start(keyId) {
      const expiresAt = new Date(now().getTime() + SESSION_SECONDS * 1000).toISOString();
      return cookie(await secrets.seal(JSON.stringify({ keyId, expiresAt }), PLACE), SESSION_SECONDS);
    },

    end: () => cookie('', 0),

    async keyIdOf(headers) {
      const sealed = cookieOf(headers, name());
      if (!sealed) return undefined;
      const text = await secrets.open(sealed, PLACE).catch((error: unknown) => {
        if (error instanceof SecretError) return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      const { keyId, expiresAt } = sessionContent.parse(JSON.parse(text));
      return new Date(expiresAt) > now() ? keyId : undefined;
    },

    isSameOrigin(headers) {
      const site = headers.get('sec-fetch-site');
      if (site !== null) return site === 'same-origin';
      const origin = headers.get('origin');
      if (origin === null) return false;
      // People may reach a gateway on their own machine by another name than the configured one.
      return origin === new URL(publicUrl()).origin || (!isSecure() && hostOf(origin) === headers.get('host'));
    },
  };
}

function cookieOf(headers: HttpHeaders, name: string): string | undefined {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
