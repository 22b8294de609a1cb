import type { VNode } from 'preact';
import { useAdministration, useScope } from './caller.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Icon } from './icons.ts';
import { lazy } from './lazy.ts';
import { sessionsOf } from './navigation.ts';
import type { Answers } from './operation-types.ts';
import { Time } from './parts.ts';

/** What runs now, and what needs a person. */

type Organization = NonNullable<Answers['Overview']['viewer']['organization']>;
type Listed = NonNullable<Organization['running']>['nodes'];

const Latest = lazy(async () => (await import('./session-latest.ts')).Latest, null);

interface Need {
  readonly kind: 'connection' | 'webhook';
  readonly name: string;
  readonly href: string;
  readonly words: string;
}

export interface Needs {
  readonly items: readonly Need[];
  /** Besides failed sessions. */
  readonly count: number;
}

/** Connections to authorize and disabled webhooks, as far as the caller can see them. */
export function useNeeds(): Needs {
  const connections = useScope('MCP_CONNECTIONS_READ');
  const isAdministrator = useAdministration();
  const webhooks = useScope('WEBHOOKS_WRITE') && isAdministrator;
  const { data } = useQuery('OverviewNeeds', { connections, webhooks });
  const { mcpServers, webhooks: disabled } = data?.viewer.organization ?? {};
  const items = [
    ...(mcpServers?.nodes ?? [])
      .filter(({ nextAction }) => nextAction === 'AUTHORIZE')
      .map(({ databaseId, name }): Need => {
        return { kind: 'connection', name, href: `/mcp-connections/${databaseId}`, words: 'needs an authorization' };
      }),
    ...(disabled?.nodes ?? []).map(({ databaseId, url }): Need => {
      return { kind: 'webhook', name: url, href: `/webhooks/${databaseId}`, words: 'is disabled' };
    }),
  ];
  return { items, count: items.length };
}

interface WorkProps {
  readonly organization: Organization;
  readonly from: string;
  readonly needs: Needs;
}

export function Work({ organization: { running, failed }, from, needs }: WorkProps): VNode {
  const failures = failed?.nodes ?? [];
  return html`<div class="panels">
    <section class="panel" aria-labelledby="needs">
      <h2 id="needs">Needs a person</h2>
      ${failures.length + needs.count === 0 && html`<p class="soft">Nothing does.</p>`}
      <ul class="plain-list">
        ${needs.items.map(
          ({ kind, name, href, words }) =>
            html`<li key=${href}>
              <${Icon} name=${kind} tone="warn" /><a href=${href}>${name}</a> <span class="soft">${words}</span>
            </li>`,
        )}
      </ul>
      <${Sessions} sessions=${failures} icon="failed" />
      <${More} list=${failed} href=${sessionsOf({ state: 'FAILED', from })} words="failed sessions" />
    </section>
    <section class="panel" aria-labelledby="running">
      <h2 id="running">Runs now</h2>
      ${running?.nodes.length === 0 && html`<p class="soft">No session is running.</p>`}
      <${Sessions} sessions=${running?.nodes ?? []} icon="running" />
      <${More} list=${running} href=${sessionsOf({ state: 'IN_PROGRESS' })} words="running sessions" />
    </section>
  </div>`;
}

function Sessions({ sessions, icon }: { readonly sessions: Listed; readonly icon: 'failed' | 'running' }): VNode {
  return html`<ul class="plain-list">
    ${sessions.map(
      ({ databaseId, title, agent, lastSeenAt, events }) =>
        html`<li key=${databaseId}>
          <${Icon} name=${icon} tone=${icon === 'failed' ? 'bad' : 'busy'} /><a
            href=${`/sessions/${databaseId}`}
            dir="auto"
            >${title}</a
          >${' '}<span class="soft"><bdi>${agent ?? 'no agent'}</bdi>, <${Time} at=${lastSeenAt} /></span>
          ${events && events.nodes.length > 0 && html`<${Latest} events=${events.nodes} hasFailed=${icon === 'failed'} />`}
        </li>`,
    )}
  </ul>`;
}

interface MoreProps {
  readonly list: Organization['running'];
  readonly href: string;
  readonly words: string;
}

function More({ list, href, words }: MoreProps): VNode | null {
  if (!list || list.totalCount <= list.nodes.length) return null;
  return html`<p><a href=${href}>All ${list.totalCount} ${words}</a></p>`;
}
