import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { useAdministration, useScope } from './caller.ts';
import { ChoiceField, momentOf, useFilter } from './filters.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Empty, Faults, Loading, PageFrame, Table, Time } from './parts.ts';
import { type Bar, BarPlot } from './bar-plot.ts';

type Organization = NonNullable<Answers['Overview']['viewer']['organization']>;
type Row = NonNullable<Organization['days']>['rows'][number];

const DAY_MS = 86_400_000;
const PERIODS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const dollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 2 });

/** What cannot be known is not 0. */
const amount = (value: number | null, format = whole) => (value === null ? '–' : format.format(value));
const sessionsOf = (query: Readonly<Record<string, string>>) => `/sessions?${new URLSearchParams(query)}`;

export function OverviewPage(): VNode {
  const [chosen, choose] = useFilter('days');
  const days = PERIODS.find(([period]) => period === chosen)?.[0] ?? '30';
  const variables = useMemo(() => {
    const today = Date.now();
    const from = dayOf(today - (Number(days) - 1) * DAY_MS);
    return { from, until: dayOf(today + DAY_MS), failedFrom: momentOf(from) ?? `${from}T00:00:00Z` };
  }, [days]);
  const { data, faults, isLoading, paused } = useQuery('Overview', variables);
  const organization = data?.viewer.organization;
  return html`<${PageFrame}
    title="Overview"
    intro="What the agents of this organization did, what they cost, and what needs a person. Days are in UTC."
  >
    <${Faults} faults=${faults} />
    <div class="filters"><${ChoiceField} label="Period" value=${days} onChange=${choose} choices=${PERIODS} /></div>
    ${isLoading && !organization && html`<${Loading} paused=${paused} />`}
    ${organization && html`<${Work} organization=${organization} from=${variables.from} />`}
    ${organization && html`<${Plots} organization=${organization} days=${Number(days)} from=${variables.from} />`}
  <//>`;
}

interface WorkProps {
  readonly organization: Organization;
  readonly from: string;
}

/** What runs now, and what needs a person. */
function Work({ organization: { running, failed }, from }: WorkProps): VNode {
  const readsConnections = useScope('MCP_CONNECTIONS_READ');
  const isAdministrator = useAdministration();
  const readsWebhooks = useScope('WEBHOOKS_WRITE') && isAdministrator;
  return html`<div class="panels">
    <section class="panel" aria-labelledby="running">
      <h2 id="running">Runs now</h2>
      <p class="figure"><a href=${sessionsOf({ state: 'IN_PROGRESS' })}>${amount(running?.totalCount ?? null)}</a></p>
      <${Sessions} sessions=${running?.nodes ?? []} empty="No session is running." />
    </section>
    <section class="panel" aria-labelledby="failed">
      <h2 id="failed">Failed sessions</h2>
      <p class="figure"><a href=${sessionsOf({ state: 'FAILED', from })}>${amount(failed?.totalCount ?? null)}</a></p>
      <${Sessions} sessions=${failed?.nodes ?? []} empty="No session of this period has failed." />
    </section>
    ${readsConnections && html`<${Connections} />`} ${readsWebhooks && html`<${Webhooks} />`}
  </div>`;
}

type Listed = NonNullable<Organization['running']>['nodes'];

function Sessions({ sessions, empty }: { readonly sessions: Listed; readonly empty: string }): VNode {
  if (sessions.length === 0) return html`<p class="soft">${empty}</p>`;
  return html`<ul class="plain-list">
    ${sessions.map(
      ({ databaseId, title, lastSeenAt }) =>
        html`<li key=${databaseId}>
          <a href=${`/sessions/${databaseId}`}>${title}</a> <span class="soft"><${Time} at=${lastSeenAt} /></span>
        </li>`,
    )}
  </ul>`;
}

function Connections(): VNode | null {
  const { data } = useQuery('McpServers', { first: 100 });
  const waiting = (data?.viewer.organization?.mcpServers?.nodes ?? []).filter(
    ({ nextAction }) => nextAction === 'AUTHORIZE',
  );
  if (waiting.length === 0) return null;
  return html`<section class="panel" aria-labelledby="waiting">
    <h2 id="waiting">Connections to authorize</h2>
    <ul class="plain-list">
      ${waiting.map(({ databaseId, name }) => html`<li key=${databaseId}><a href=${`/mcp-connections/${databaseId}`}>${name}</a></li>`)}
    </ul>
  </section>`;
}

function Webhooks(): VNode | null {
  const { data } = useQuery('Webhooks', { first: 20 });
  const disabled = (data?.viewer.organization?.webhooks?.nodes ?? []).filter(({ isEnabled }) => !isEnabled);
  if (disabled.length === 0) return null;
  return html`<section class="panel" aria-labelledby="disabled">
    <h2 id="disabled">Disabled webhooks</h2>
    <ul class="plain-list">
      ${disabled.map(({ databaseId, url }) => html`<li key=${databaseId}><a href=${`/webhooks/${databaseId}`}>${url}</a></li>`)}
    </ul>
  </section>`;
}

function Plots({ organization, days, from }: WorkProps & { readonly days: number }): VNode {
  const byDay = new Map((organization.days?.rows ?? []).map((row) => [row.key, row]));
  const all = Array.from({ length: days }, (_, index) => dayOf(Date.parse(from) + index * DAY_MS));
  const totals = organization.days?.totals;
  if (!totals?.sessions && totals?.costUsd == null)
    return html`<${Empty}>Nothing was recorded in this period. <a href="/sessions">Record a session</a>.<//>`;
  const agents = organization.agents?.rows ?? [];
  const tools = (organization.tools?.rows ?? []).filter(({ toolCalls }) => toolCalls !== null);
  const sessionBars = all.map((day): Bar => {
    const { sessions = null, failedSessions = null } = byDay.get(day) ?? {};
    return { name: day, value: sessions ?? 0, marked: failedSessions ?? 0, href: sessionsOf({ from: day, to: day }) };
  });
  const costBars = all.map((day): Bar => {
    const cost = byDay.get(day)?.costUsd ?? null;
    return { name: day, value: cost ?? 0, marked: 0, href: sessionsOf({ from: day, to: day }) };
  });
  return html`<h2>Sessions by day</h2>
    <${BarPlot} bars=${sessionBars} label="Sessions" marked="Failures" format=${whole} />
    <h2>Cost by day</h2>
    <${BarPlot} bars=${costBars} label="Cost" format=${dollars} />
    <h2>Cost and tokens by agent</h2>
    <${Table}
      label="Agents"
      head=${['Agent', 'Cost', 'Input tokens', 'Output tokens', 'Sessions', 'Failures']}
      rows=${agents}
      row=${agentRow}
    />
    <h2>Tools</h2>
    <${Table} label="Tools" head=${['Tool', 'Calls', 'Failed', 'Share']} rows=${tools} row=${toolRow} />`;
}

function agentRow({ key, label, costUsd, inputTokens, outputTokens, sessions, failedSessions }: Row): VNode {
  const name = key === null ? 'No agent' : html`<a href=${sessionsOf({ agent: key })}>${label}</a>`;
  const failures = amount(failedSessions);
  return html`<tr key=${key}>
    <td>${name}</td>
    <td class="number">${amount(costUsd, dollars)}</td>
    <td class="number">${amount(inputTokens)}</td>
    <td class="number">${amount(outputTokens)}</td>
    <td class="number">${amount(sessions)}</td>
    <td class="number">
      ${key === null ? failures : html`<a href=${sessionsOf({ agent: key, state: 'FAILED' })}>${failures}</a>`}
    </td>
  </tr>`;
}

function toolRow({ key, label, toolCalls, toolErrors }: Row): VNode {
  const share = toolCalls ? Math.round((100 * (toolErrors ?? 0)) / toolCalls) : 0;
  return html`<tr key=${key}>
    <td>${key === null ? 'Without a name' : label}</td>
    <td class="number">${amount(toolCalls)}</td>
    <td class="number">${amount(toolErrors)}</td>
    <td><progress max="100" value=${share} aria-label=${`${label}: failed calls`}></progress> ${share} %</td>
  </tr>`;
}
