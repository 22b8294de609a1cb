import { type VNode, render } from 'preact';
import { useEffect, useState, useRef } from 'preact/hooks';
import { organization } from './api.ts';
import { ApiKeysPage } from './api-keys-page.ts';
import { CallerContext } from './caller.ts';
import { AuditLogPage } from './audit-log-page.ts';
import { EventDefinitionPage } from './event-definition-page.ts';
import { EventDefinitionsPage } from './event-definitions-page.ts';
import { useQuery } from './hooks.ts';
import { html, valueOf } from './html.ts';
import { InvitationPage } from './invitation-page.ts';
import { McpConnectionsPage } from './mcp-connections-page.ts';
import { MembersPage } from './members-page.ts';
import { Notices } from './notices.ts';
import { Empty, Faults, PageFrame, personOf } from './parts.ts';
import { SessionPage } from './session-page.ts';
import { SessionsPage } from './sessions-page.ts';
import { UsagePage } from './usage-page.ts';

const PAGES = [
  ['/sessions', 'Sessions'],
  ['/event-definitions', 'Event definitions'],
  ['/mcp-connections', 'MCP connections'],
  ['/api-keys', 'API keys'],
  ['/members', 'Members'],
  ['/audit-log', 'Audit log'],
  ['/usage', 'Usage'],
] as const;

function pageAt(path: string): VNode {
  const [, section = '', name] = path.split('/');
  if (name) {
    if (section === 'sessions') return html`<${SessionPage} key=${name} id=${decoded(name)} />`;
    if (section === 'event-definitions') return html`<${EventDefinitionPage} key=${name} name=${decoded(name)} />`;
  }
  switch (section) {
    case '':
    case 'sessions':
      return html`<${SessionsPage} />`;
    case 'event-definitions':
      return html`<${EventDefinitionsPage} />`;
    case 'mcp-connections':
      return html`<${McpConnectionsPage} />`;
    case 'api-keys':
      return html`<${ApiKeysPage} />`;
    case 'members':
      return html`<${MembersPage} />`;
    case 'audit-log':
      return html`<${AuditLogPage} />`;
    case 'usage':
      return html`<${UsagePage} />`;
    default:
      return html`<${PageFrame} title="Not found"><${Empty}>There is no such page.<//><//>`;
  }
}

/** A decoded part of the URL, or the part itself if it is not encoded correctly. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The path of the current page. Navigation does not reload the console. */
function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const moved = () => setPath(location.pathname);
    const clicked = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a') : null;
      const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      if (!link || !isPlain || link.origin !== location.origin || !isConsolePath(link.pathname)) return;
      if (link.pathname === location.pathname && link.hash !== '') return;
      event.preventDefault();
      history.pushState(null, '', link.href);
      moved();
      scrollTo(0, 0);
    };
    addEventListener('popstate', moved);
    document.addEventListener('click', clicked);
    return () => {
      removeEventListener('popstate', moved);
      document.removeEventListener('click', clicked);
    };
  }, []);
  return path;
}

function isConsolePath(path: string): boolean {
  return path === '/' || PAGES.some(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
}

function Console(): VNode {
  const path = usePath();
  const { data, faults, isLoading } = useQuery('Viewer', {});
  const viewer = data?.viewer;
  const shown = useRef(path);
  useEffect(() => {
    const name = PAGES.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Sessions';
    document.title = `${name} – Workspace gateway`;
    const title = document.querySelector<HTMLElement>('#page-title');
    // If the user moves the focus while the first page loads, it stays.
    if (title && (shown.current !== path || document.activeElement === document.body)) {
      title.focus({ preventScroll: true });
      shown.current = path;
    }
    // On a phone the navigation is one line, which scrolls.
    document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [path, viewer === undefined]);
  const organizations = viewer?.organizations?.nodes ?? [];
  const needsChoice = !isLoading && viewer && !viewer.organization && organizations.length > 0;
  if (needsChoice && organizations[0]) choose(organizations[0].databaseId);
  return html`<div class="console">
    <header class="side">
      <a class="brand" href="/"><img src=${ICON} alt="" width="26" height="26" />Workspace gateway</a>
      <${OrganizationChoice} current=${viewer?.organization} organizations=${organizations} />
      <nav aria-label="Console">
        <ul>
          ${PAGES.map(([href, name]) => html`<li key=${href}><a href=${href} aria-current=${isAt(path, href) ? 'page' : undefined}>${name}</a></li>`)}
        </ul>
      </nav>
    </header>
    <main id="content">
      ${!viewer && !isLoading && html`<${Faults} faults=${faults} />`}
      <${Notices} />
      <${CallerContext.Provider} value=${viewer}>
        ${viewer && (viewer.organization || organizations.length > 0 ? pageAt(path) : html`<${NoOrganization} />`)}
      <//>
    </main>
    <footer class="side-foot">
      <ul>
        <li><a href="/graphql">GraphiQL</a></li>
        <li><a href="/docs">REST reference</a></li>
      </ul>
      <p class="soft">${viewer?.user && personOf(viewer.user)}</p>
      <form method="post" action="/sign-out"><button class="button small plain" type="submit">Sign out</button></form>
    </footer>
  </div>`;
}

function isAt(path: string, href: string): boolean {
  return path === href || path.startsWith(`${href}/`) || (path === '/' && href === '/sessions');
}

const ICON = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href;

interface Organization {
  readonly databaseId: string;
  readonly name: string;
}

interface OrganizationChoiceProps {
  readonly current: Organization | null | undefined;
  readonly organizations: readonly Organization[];
}

function OrganizationChoice({ current, organizations }: OrganizationChoiceProps): VNode {
  if (organizations.length < 2) return html`<p class="organization">${current?.name}</p>`;
  const changed = (event: Event) => choose(valueOf(event));
  return html`<label class="organization"
    ><span class="visually-hidden">Organization</span>
    <select value=${current?.databaseId} onChange=${changed}>
      ${organizations.map(({ databaseId, name }) => html`<option key=${databaseId} value=${databaseId}>${name}</option>`)}
    </select></label
  >`;
}

function NoOrganization(): VNode {
  return html`<${PageFrame} title="No organization yet">
    <${Empty} command='mutation { createOrganization(input: { name: "Example Works" }) { __typename } }'
      >You belong to no organization. <a href="/invitations/accept">Accept an invitation</a>, or create one in
      <a href="/graphql">GraphiQL</a>:<//
    >
  <//>`;
}

/** The only page for people without an account. */
function Invitation({ isStranger }: { readonly isStranger: boolean }): VNode {
  return html`<main id="content" class="alone">
    <a class="brand" href="/"><img src=${ICON} alt="" width="28" height="28" />Workspace gateway</a>
    <${InvitationPage} isStranger=${isStranger} />
  </main>`;
}

function choose(id: string): void {
  organization.set(id);
  location.reload();
}

const root = document.querySelector('#console');
if (root) {
  const isStranger = root.hasAttribute('data-stranger');
  root.replaceChildren();
  render(
    location.pathname === '/invitations/accept'
      ? html`<${Invitation} isStranger=${isStranger} />`
      : html`<${Console} />`,
    root,
  );
}
