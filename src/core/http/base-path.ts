import { escapeHtml } from './html-page.ts';
import type { HttpAnswer } from './messages.ts';

/**
 * The path of the public address, such as `/tools` of `https://example.com/tools`. A proxy in front of the gateway may remove it from requests or
 * pass it on: handlers know paths without it, and browsers get links and redirects with it.
 */
export function basePathOf(publicUrl: string | undefined): string {
  const start = publicUrl?.indexOf('/', 'https://'.length) ?? -1;
  return publicUrl === undefined || start === -1 ? '' : publicUrl.slice(start);
}

/** Metadata of an address with a path have the path at the end (RFC 8414, section 3.1; RFC 9728, section 3.1). */
const METADATA = /^(\/\.well-known\/[^/]+)(\/.*)$/;

/** The path of a request as handlers know it. */
export function withoutBasePath(path: string, base: string): string {
  if (base === '') return path;
  if (isBelow(path, base)) return path.slice(base.length) || '/';
  const [, wellKnown = '', rest = ''] = METADATA.exec(path) ?? [];
  return isBelow(rest, base) ? wellKnown + rest.slice(base.length) : path;
}

const isBelow = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`);

/** Addresses of this host in a page. Text of users cannot contain them, because it has no quotation marks. */
const ADDRESS = /(\s(?:href|src|action)="|\scontent="0;url=)\/(?!\/)/g;

/** An answer as browsers need it: links, forms and redirects of a page lead to the public address. */
export function withBasePath(answer: HttpAnswer, base: string): HttpAnswer {
  if (base === '') return answer;
  const { body, headers } = answer;
  const location = headers['Location'];
  const isPage = typeof body === 'string' && headers['Content-Type']?.startsWith('text/html') === true;
  return {
    ...answer,
    ...(isPage && { body: body.replaceAll(ADDRESS, (_, before: string) => `${before}${escapeHtml(base)}/`) }),
    ...(location && /^\/(?!\/)/.test(location) && { headers: { ...headers, Location: base + location } }),
  };
}

/** What a base path must not begin with: a request would have two meanings. */
const OWN =
  /^\/(?:v1|events|broadcast|graphql|mcp|oauth|docs|assets|health|metrics|sign-in|sign-out|\.well-known)(?:\/|$)/;

export const isOwnPath = (path: string): boolean => OWN.test(path);
