import { z } from 'zod';

/** Clients of the authorization server that the operator names, and the addresses that a browser can be led to. */

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether an address leads to a program on the computer of the person. */
export function isLoopback(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.protocol === 'http:' && LOOPBACK.has(url.hostname);
}

/**
 * Schemes of apps, which the operating system opens: a domain in reverse order (RFC 8252, section 7.1), or that of an MCP client in use, few of
 * which follow this rule. All others are refused, because nobody can list those that start a program with what an address says.
 */
const APP_SCHEME = /^[a-z]{2,}(?:\.[a-z0-9-]+)+:$/;
const KNOWN_SCHEME =
  /^(?:claude|code-oss|cursor|goose|jetbrains|kiro|lmstudio|positron|raycast|trae|vscode|vscode-insiders|vscodium|warp|windsurf|windsurf-next|zed):$/;

export function isRedirect(uri: string, canUseSchemes: boolean): boolean {
  if (!URL.canParse(uri) || uri.includes('#') || /[\p{C}\s]/u.test(uri)) return false;
  const { protocol, username, password } = new URL(uri);
  if (username !== '' || password !== '') return false;
  // Browsers read an address of the web without // as relative, and \\ as /.
  if (protocol === 'https:' || protocol === 'http:')
    return /^https?:\/\/[^/\\]+[^\\]*$/i.test(uri) && (protocol === 'https:' || isLoopback(uri));
  return canUseSchemes && (APP_SCHEME.test(protocol) || KNOWN_SCHEME.test(protocol));
}

const ADDRESS = 'must be https, http on this computer, or the scheme of an app';

const clients = z
  .array(
    z.strictObject({
      id: z.string().regex(/^[\w.-]{1,100}$/, 'must be 1 to 100 letters, digits, . _ or -'),
      name: z.string().trim().min(1).max(100),
      redirectUris: z
        .array(
          z
            .string()
            .max(2000)
            .refine((uri) => isRedirect(uri, true), ADDRESS),
        )
        .min(1)
        .max(50),
    }),
  )
  .refine((all) => new Set(all.map(({ id }) => id)).size === all.length, 'must have different ids');

/** A JSON list of `{id, name, redirectUris}`. */
export const operatorClients = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue('must be a JSON list of {"id", "name", "redirectUris"}');
      return z.NEVER;
    }
  })
  .pipe(clients)
  .default([]);
