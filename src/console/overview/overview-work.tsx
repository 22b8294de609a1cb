import { useAdministration, useScope } from '../parts/caller.ts';
import { useFollowing, useQuery } from '../parts/hooks.ts';
import { Icon } from '../parts/icons.tsx';
import { sessionsOf } from '../parts/navigation.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Time } from '../parts/parts.tsx';
import { Latest, activityIn } from '../sessions/session-latest.tsx';

/** What runs now, and what needs a person. */

type Organization = NonNullable<Answers['Overview']['viewer']['organization']>;
type Running = NonNullable<Organization['running']>;
type Failed = NonNullable<Organization['failed']>;

interface Need {
  readonly kind: 'connection' | 'webhook' | 'warning';
  readonly name: string;
  readonly href: string;
  readonly words: string;
}

export interface Needs {
  readonly items: readonly Need[];
  /** Besides failed sessions. */
  readonly count: number;
}

/** Connections to authorize, calls to decide about and disabled webhooks, as far as the caller can see them. */
export function useNeeds(): Needs {
  const connections = useScope('MCP_CONNECTIONS_READ');
  const isAdministrator = useAdministration();
  const webhooks = useScope('WEBHOOKS_WRITE') && isAdministrator;
  const approvals = useScope('MCP_CONNECTIONS_USE');
  const { data, isLoading, reload } = useQuery('OverviewNeeds', { connections, webhooks, approvals });
  useFollowing(reload, isLoading);
  const { mcpServers, webhooks: disabled, toolApprovals } = data?.viewer.organization ?? {};
  const items = [
    ...(mcpServers?.nodes ?? [])
      .filter(({ nextAction, status }) => nextAction === 'AUTHORIZE' || status === 'UNREACHABLE')
      .map(({ databaseId, name, status }): Need => {
        const words = status === 'UNREACHABLE' ? 'is unreachable' : 'needs an authorization';
        return { kind: 'connection', name, href: `/mcp-connections/${databaseId}`, words };
      }),
    ...(toolApprovals?.nodes ?? [])
      .filter(({ viewerCanDecide }) => viewerCanDecide)
      .map(({ databaseId, toolName }): Need => {
        return {
          kind: 'warning',
          name: toolName,
          href: `/tool-approvals/${databaseId}`,
          words: 'waits for an approval',
        };
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

export function Work({ organization: { running, failed }, from, needs }: WorkProps) {
  const failures = failed?.nodes ?? [];
  return (
    <div class="panels">
      <section class="panel" aria-labelledby="needs">
        <h2 id="needs">Needs a person</h2>
        {failures.length + needs.count === 0 && <p class="soft">Nothing does.</p>}
        <ul class="plain-list">
          {needs.items.map(({ kind, name, href, words }) => (
            <li key={href}>
              <Icon name={kind} tone="warn" />
              <a href={href}>{name}</a> <span class="soft">{words}</span>
            </li>
          ))}
        </ul>
        <Sessions sessions={failures} icon="failed" textOf={({ failureReason }) => failureReason} />
        <More list={failed} href={sessionsOf({ needs: 'yes', from })} words="failed sessions" />
      </section>
      <section class="panel" aria-labelledby="running">
        <h2 id="running">Running</h2>
        {running?.nodes.length === 0 && <p class="soft">No session is running.</p>}
        <Sessions
          sessions={running?.nodes ?? []}
          icon="running"
          textOf={({ entries }) => activityIn(entries?.nodes ?? [])}
        />
        <More list={running} href={sessionsOf({ state: 'IN_PROGRESS' })} words="running sessions" />
      </section>
    </div>
  );
}

interface SessionsProps<Listed> {
  readonly sessions: readonly Listed[];
  readonly icon: 'failed' | 'running';
  readonly textOf: (session: Listed) => string | null | undefined;
}

const Sessions = <Listed extends Running['nodes'][number] | Failed['nodes'][number]>({
  sessions,
  icon,
  textOf,
}: SessionsProps<Listed>) => (
  <ul class="plain-list">
    {sessions.map((session) => (
      <li key={session.databaseId}>
        <Icon name={icon} tone={icon === 'failed' ? 'bad' : 'busy'} />
        <a href={`/sessions/${session.databaseId}`} dir="auto">
          {session.title}
        </a>{' '}
        <span class="soft">
          <bdi>{session.agent ?? 'no agent'}</bdi>, <Time at={session.lastSeenAt} />
        </span>
        <Latest text={textOf(session)} hasFailed={icon === 'failed'} />
      </li>
    ))}
  </ul>
);

interface MoreProps {
  readonly list: Organization['running'] | Organization['failed'];
  readonly href: string;
  readonly words: string;
}

function More({ list, href, words }: MoreProps) {
  if (!list || list.totalCount <= list.nodes.length) return null;
  return (
    <p>
      <a href={href}>
        All {list.totalCount} {words}
      </a>
    </p>
  );
}
