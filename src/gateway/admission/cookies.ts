import type { HttpHeaders } from '../../core/http/messages.ts';
import { type SecretBox, SecretError } from '../../core/secrets/secrets.ts';

/** Cookies whose content is encrypted like stored secrets, so that nobody can read or forge it. */

/** Whether cookies are sent over HTTPS only: whether the address of the gateway begins with `https:`. */
export const hasSecureCookies = (publicUrl: string): boolean => publicUrl.startsWith('https:');

/** With the prefix `__Host-`, subdomains and plain HTTP cannot set the cookie (RFC 6265bis, section 4.1.3.2). */
export const cookieName = (name: string, isSecure: boolean): string => (isSecure ? `__Host-${name}` : name);

/** The header `Set-Cookie`; `maxAge` in seconds. */
export function setCookie(
  name: string,
  value: string,
  { maxAge, sameSite, isSecure }: { maxAge: number; sameSite: 'Lax' | 'Strict'; isSecure: boolean },
): string {
  const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}`;
  return `${name}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`;
}

/** The decrypted content of a cookie of a request; undefined if there is none, or if it was not sealed here. */
export async function openCookie(
  secrets: Pick<SecretBox, 'open'>,
  headers: HttpHeaders,
  name: string,
  place: Parameters<SecretBox['open']>[1],
): Promise<string | undefined> {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  const sealed = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  if (!sealed) return undefined;
  return secrets.open(sealed, place).catch((error: unknown) => {
    if (error instanceof SecretError) return undefined;
    throw error;
  });
}
