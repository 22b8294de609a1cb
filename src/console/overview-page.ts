import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { costOf, counted, countOf, shortCost, shortCount } from './amounts.ts';
import { type Bar, BarPlot, dayName } from './bar-plot.ts';
import { Segments, useFilter } from './filters.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { sessionsOf } from './navigation.ts';
import type { Answers } from './operation-types.ts';
import { Work, useNeeds } from './overview-work.ts';
import { ToolTable, UsageTable } from './overview-tables.ts';
import { Empty, Faults, Loading, PageFrame } from './parts.ts';

type Organization = NonNullable<Answers['Overview']['viewer']['organization']>;

const DAY_MS = 86_400_000;
const PERIODS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

export function OverviewPage(): VNode {
  const [chosen, choose] = useFilter('days');
  const days = PERIODS.find(([period]) => period === chosen)?.[0] ?? '30';
  const variables = useMemo(() => {
    const today = Date.now();
    const from = dayOf(today - (Number(days) - 1) * DAY_MS);
    return { from, until: dayOf(today + DAY_MS), failedFrom: `${from}T00:00:00Z` };
  }, [days]);
  const { data, faults, isLoading, paused } = useQuery('Overview', variables);
  const organization = data?.viewer.organization;
  const shown = { organization, ...variables };
  return html`<${PageFrame}
    title="Overview"
    intro="What the agents did and cost, and what needs a person. Days are in UTC."
    actions=${html`<${Segments} label="Period" value=${days} onChange=${choose} choices=${PERIODS} />`}
  >
    <${Faults} faults=${faults} />
    ${isLoading && !organization && html`<${Loading} paused=${paused} />`}
    ${organization && html`<${Content} ...${shown} />`}
  <//>`;
}

interface ContentProps {
  readonly organization: Organization;
  readonly from: string;
  readonly until: string;
}

function Content({ organization, from, until }: ContentProps): VNode {
  const needs = useNeeds();
  const totals = organization.days?.totals;
  const isEmpty = !totals?.sessions && totals?.costUsd == null;
  return html`<${Figures} organization=${organization} from=${from} others=${needs.count} />
    <${Work} organization=${organization} from=${from} needs=${needs} />
    ${
      isEmpty
        ? html`<${Empty}>Nothing was recorded in this period. <a href="/record">Record an agent</a><//>`
        : html`<${Plots} organization=${organization} from=${from} until=${until} />
            <${UsageTable} from=${from} until=${until} />
            <${ToolTable} rows=${organization.tools?.rows ?? []} from=${from} />`
    }`;
}

interface FiguresProps {
  readonly organization: Organization;
  readonly from: string;
  /** What else needs a person. */
  readonly others: number;
}

/** The numbers of the period, each with the list behind it. */
function Figures({ organization: { days, running, failed }, from, others }: FiguresProps): VNode {
  const failures = failed?.totalCount ?? 0;
  const tiles = [
    ['Sessions', countOf(days?.totals.sessions), sessionsOf({ from }), 'started'],
    ['Cost', costOf(days?.totals.costUsd), '#by', `${shortCount(days?.totals.outputTokens)} tokens out`],
    ['Run now', countOf(running?.totalCount), sessionsOf({ state: 'IN_PROGRESS' }), 'at this moment'],
    ['Failed', countOf(failed?.totalCount), sessionsOf({ state: 'FAILED', from }), 'of these sessions'],
    ['Need a person', countOf(failures + others), '#needs', 'failed sessions included'],
  ] as const;
  return html`<dl class="tiles">
    ${tiles.map(
      ([name, value, href, more]) =>
        html`<div key=${name} class="panel">
          <dt>${name}</dt>
          <dd class="figure"><a href=${href}>${value}</a></dd>
          <dd class="soft">${more}</dd>
        </div>`,
    )}
  </dl>`;
}

function Plots({ organization, from, until }: ContentProps): VNode {
  const byDay = new Map((organization.days?.rows ?? []).map((row) => [row.key, row]));
  const count = Math.round((Date.parse(until) - Date.parse(from)) / DAY_MS);
  const days = Array.from({ length: count }, (_, index) => dayOf(Date.parse(from) + index * DAY_MS));
  const totals = organization.days?.totals;
  const sessions = days.map((day): Bar => {
    const { sessions: all = 0, failedSessions } = byDay.get(day) ?? {};
    const [started, failed] = [all ?? 0, failedSessions ?? 0];
    const href = sessionsOf({ from: day, to: day });
    return {
      name: dayName(day),
      words: `${dayName(day)}: ${counted(started, 'session')}, ${failed} failed`,
      parts: [failed, Math.max(0, started - failed)],
      cells: [
        html`<a href=${href}>${started}</a>`,
        html`<a href=${sessionsOf({ state: 'FAILED', from: day, to: day })}>${failed}</a>`,
      ],
      href,
    };
  });
  const costs = days.map((day): Bar => {
    const { costUsd = null, inputTokens = null, outputTokens = null } = byDay.get(day) ?? {};
    const href = sessionsOf({ from: day, to: day });
    return {
      name: dayName(day),
      words: `${dayName(day)}: ${costOf(costUsd)}, ${countOf(inputTokens)} tokens in, ${countOf(outputTokens)} out`,
      parts: [costUsd ?? 0],
      cells: [html`<a href=${href}>${costOf(costUsd)}</a>`, countOf(inputTokens), countOf(outputTokens)],
      href,
    };
  });
  return html`<div class="plots">
    <section aria-labelledby="by-state">
      <h2 id="by-state">Sessions by day and state</h2>
      <${BarPlot}
        label="Sessions by day"
        bars=${sessions}
        parts=${STATES}
        format=${shortCount}
        summary=${`${counted(totals?.sessions ?? 0, 'session')}, ${countOf(totals?.failedSessions)} failed`}
        head=${['Day', 'Sessions', 'Failed']}
      />
    </section>
    <section aria-labelledby="by-cost">
      <h2 id="by-cost">Cost by day</h2>
      <${BarPlot}
        label="Cost by day"
        bars=${costs}
        parts=${COST}
        format=${shortCost}
        summary=${`${costOf(totals?.costUsd)} in ${counted(count, 'day')}`}
        head=${['Day', 'Cost', 'Tokens in', 'Tokens out']}
      />
    </section>
  </div>`;
}

const STATES = [
  ['Failed', 'bad'],
  ['Others', ''],
] as const;
const COST = [['Cost', '']] as const;
