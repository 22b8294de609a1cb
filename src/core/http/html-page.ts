import { type HttpAnswer, answerWith } from './messages.ts';

/**
 * The content security policy of pages: all resources come from the gateway, no script or style is inline, and no page
 * can be framed. `allow` adds to a directive.
 */
export function contentSecurityPolicy(allow: Readonly<Record<string, string>> = {}): string {
  const directives: Record<string, string> = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self' data:",
    'font-src': "'self' data:",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  for (const [directive, sources] of Object.entries(allow))
    directives[directive] = directives[directive] ? `${directives[directive]} ${sources}` : sources;
  return Object.entries(directives)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join('; ');
}

/** Answers a page that depends on the caller and must not be cached. */
export function answerHtml(
  html: string,
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): HttpAnswer {
  return answerWith(html, {
    status,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy(),
      'Cache-Control': 'no-store',
      // With `no-referrer`, browsers would send `Origin: null` with the forms of pages that are opened over plain http.
      'Referrer-Policy': 'same-origin',
      ...headers,
    },
  });
}

/** Characters that change the direction of the text after them (Unicode Standard Annex 9, section 2). */
const DIRECTION = /[\u202A-\u202E\u2066-\u2069]/g;

/** Text chosen by others in a page: it has no markup, and does not change the direction of what follows. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll(DIRECTION, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Whether a browser requests a page, rather than a program data. */
export function wantsHtml({
  method,
  headers,
}: {
  readonly method: string;
  readonly headers: { get(name: string): string | null };
}): boolean {
  return (method === 'GET' || method === 'HEAD') && (headers.get('accept') ?? '').includes('text/html');
}
