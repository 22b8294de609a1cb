import { contentSecurityPolicy } from './content-security-policy.ts';
import { prefers } from './accept.ts';
import { type HttpAnswer, answerWith } from './messages.ts';

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
      // A page of another site that has opened this one keeps no handle on its window.
      'Cross-Origin-Opener-Policy': 'same-origin',
      ...headers,
    },
  });
}

/** Characters that change the direction of the text after them (Unicode Standard Annex 9, section 2). */
const DIRECTION = /[\u202A-\u202E\u2066-\u2069]/g;

/** Text chosen by others in a page: it has no markup, and does not change the direction of what follows. */
export const escapeHtml = (text: string): string =>
  text
    .replaceAll(DIRECTION, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** Whether a browser requests a page, rather than a program data. */
export const wantsHtml = ({
  method,
  headers,
}: {
  readonly method: string;
  readonly headers: { get(name: string): string | null };
}): boolean => (method === 'GET' || method === 'HEAD') && prefers('text/html', headers);
