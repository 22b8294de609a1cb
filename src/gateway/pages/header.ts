import { escapeHtml } from '../../core/http/html-page.ts';
import type { KnownKey } from '../admission/api-key-lookup.ts';
import { FAVICON, publishOwn } from './files.ts';

/** The visitor of a page: the API key that the browser is signed in with, if any. */
export type Visitor = Pick<KnownKey, 'isBound' | 'organizations'> | undefined;

export interface HeaderSettings {
  /** Whether keys sign browsers in. */
  readonly keysSignIn: boolean;
}

export const HEADER_STYLE = publishOwn('header.css');

/** The page header of GraphiQL and the reference: links to the other pages, and a field for the API key or the signed-in organization. */
export function header(current: '/graphql' | '/docs', visitor: Visitor, { keysSignIn }: HeaderSettings): string {
  const links = [
    ['/', 'Console'],
    ['/graphql', 'GraphiQL'],
    ['/docs', 'REST reference'],
    ['/schema.graphql', 'Schema'],
  ] as const;
  const items = links
    .map(([href, name]) => `<li><a href="${href}"${href === current ? ' aria-current="page"' : ''}>${name}</a></li>`)
    .join('');
  const [, title] = links.find(([href]) => href === current) ?? [];
  return `<header class="bar">
  <h1 class="visually-hidden">${title}</h1>
  <a class="brand" href="/"><img src="${FAVICON}" alt="" width="24" height="24">Workspace gateway</a>
  <nav aria-label="Pages"><ul>${items}</ul></nav>
  ${visitor ? signedIn(visitor) : keysSignIn ? signInForm(current) : signInLink(current)}
</header>`;
}

const signInLink = (current: string): string =>
  `<p class="key"><a class="button" href="/sign-in?next=${current}">Sign in</a></p>`;

function signInForm(current: string): string {
  return `<form class="key" method="post" action="/sign-in">
    <label for="api-key">API key</label>
    <input id="api-key" name="key" type="password" required placeholder="wgk_…" autocomplete="current-password" spellcheck="false">
    <input type="hidden" name="next" value="${current}">
    <button class="button" type="submit">Use key</button>
  </form>`;
}

function signedIn({ organizations }: NonNullable<Visitor>): string {
  const [only] = organizations;
  const nameOf = ({ name, slug, id }: KnownKey['organizations'][number]) => escapeHtml(name ?? slug ?? id);
  const where =
    organizations.length > 1
      ? `<label for="organization">Organization</label>
    <select id="organization">${organizations.map((each) => `<option value="${each.id}"${each.slug === null ? '' : ` data-slug="${escapeHtml(each.slug)}"`}>${nameOf(each)}</option>`).join('')}</select>`
      : `<span>Signed in${only ? `, ${nameOf(only)}` : ''}</span>`;
  return `<form class="key" method="post" action="/sign-out">
    ${where}
    <button class="button plain" type="submit">Sign out</button>
  </form>`;
}
