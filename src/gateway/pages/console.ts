import { readFileSync } from 'node:fs';
import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import { type HttpAnswer, type HttpRequest, answerWith } from '../../core/http/messages.ts';
import { publishScript } from './scripts.ts';
import { publish } from './files.ts';
import { layout } from './layout.ts';

const FOLDER = new URL('../../console/', import.meta.url);

const SECTIONS =
  /^\/(?:$|(?:overview|sessions|record|event-definitions|mcp-connections|tool-approvals|webhooks|api-keys|members|groups|access-review|audit-log|organization|usage|profile)(?:\/|$))/;
/** The page for people who have no account yet. */
const PUBLIC = '/invitations/accept';

export const isConsolePath = (pathname: string): boolean => SECTIONS.test(pathname) || pathname === PUBLIC;

/** How people can sign in. */
interface Ways {
  /** The name of the identity provider; undefined without one. */
  readonly provider: string | undefined;
  readonly keysSignIn: boolean;
}

/** The console: one page for all its addresses. It requires a sign-in, except for accepting an invitation. */
export function consolePage(
  { headers }: HttpRequest,
  { pathname, search }: URL,
  { isSignedIn, provider, keysSignIn }: Ways & { readonly isSignedIn: boolean },
): HttpAnswer {
  // A link on another site opens the page without the cookie (`SameSite=Strict`), so the page itself checks who is signed in.
  const mayLackCookie = /^(?:cross|same)-site$/.test(headers.get('sec-fetch-site') ?? '');
  if (!isSignedIn && !mayLackCookie && pathname !== PUBLIC) {
    const next = encodeURIComponent(pathname + search);
    return answerWith(null, {
      status: 303,
      headers: { Location: `/sign-in?next=${next}`, 'Cache-Control': 'no-store' },
    });
  }
  const { style, sessionStyle, main, worker } = (assets ??= publishAssets());
  const head = [`<link rel="stylesheet" href="${style}">`, `<script type="module" src="${main}"></script>`].join(
    '\n    ',
  );
  const isStranger = !isSignedIn && !mayLackCookie;
  const ways = `${provider === undefined ? '' : ` data-provider="${escapeHtml(provider)}"`}${keysSignIn ? ' data-keys' : ''}`;
  const body = `<div id="console" data-session-style="${sessionStyle}" data-worker="${worker}"${isStranger ? ' data-stranger' : ''}${pathname === PUBLIC ? ways : ''}><noscript>The console needs JavaScript. All its data is available in the GraphQL API at /graphql.</noscript></div>`;
  return answerHtml(layout({ title: 'Workspace gateway', head, body }));
}

let assets: ReturnType<typeof publishAssets> | undefined;

function publishAssets() {
  const [style, sessionStyle] = ['console.css', 'session.css'].map((name) =>
    publish(name, readFileSync(new URL(name, FOLDER))),
  );
  return { style, sessionStyle, main: publishScript('console'), worker: publishScript('stream-worker') };
}
