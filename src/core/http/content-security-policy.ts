/** The content security policies of all answers (header `Content-Security-Policy`). */

/**
 * The policy of pages: all resources come from the gateway, no script or style is inline, and no page
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

/** For answers that are not pages: if a browser displays one, it can load and run nothing. */
export const NO_PAGE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** A worker has the policy of its own file: it may load its script, and connect to the gateway. */
export const WORKER_POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'";

/** For a page that has only a style of its own, which its hash names, and forms that go to the gateway or nowhere. */
export const styledPagePolicy = (styleHash: string, formAction: "'none'" | "'self'"): string =>
  `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action ${formAction}; frame-ancestors 'none'`;
