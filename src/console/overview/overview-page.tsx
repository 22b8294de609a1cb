import { useMemo } from 'preact/hooks';
import { costOf, counted, countOf, countTick, durationOf, shortCost, shortCount } from '../parts/amounts.ts';
import { type Bar, BarPlot, dayName } from '../parts/bar-plot.tsx';
import { useOwnCosts, useScope } from '../parts/caller.ts';
import { Segments, useFilter } from '../parts/filters.tsx';
import { useFollowing, useQuery } from '../parts/hooks.ts';
import { dayFromToday, firstOfMonth, sessionsOf } from '../parts/navigation.ts';
import type { Answers } from '../generated/operation-types.ts';
import { EventPlot } from './overview-events.tsx';
import { Work, useNeeds } from './overview-work.tsx';
import { ToolTable, UsageTable } from './overview-tables.tsx';
import { Empty, Faults, Loading, PageFrame, Table, wordsOf } from '../parts/parts.tsx';

type Organization = NonNullable<Answers['Overview']['viewer']['organization']>;
type Counts = NonNullable<Organization['days']>[number];
type Dear = NonNullable<Organization['dearest']>['nodes'][number];

const PERIODS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['this-month', 'This month'],
  ['last-month', 'Last month'],
] as const;

/** The days of a period in UTC, and the first day of the period before. */
function periodOf(chosen: (typeof PERIODS)[number][0]) {
  const daysUntil = (from: string, until: string) => {
    const days: string[] = [];
    for (let at = new Date(from); at < new Date(until); at.setUTCDate(at.getUTCDate() + 1))
      days.push(at.toISOString().slice(0, 10));
    return days;
  };
  const tomorrow = dayFromToday(1);
  const [before, from, until] =
    chosen === 'this-month'
      ? [firstOfMonth(-1), firstOfMonth(0), tomorrow]
      : chosen === 'last-month'
        ? [firstOfMonth(-2), firstOfMonth(-1), firstOfMonth(0)]
        : [dayFromToday(1 - 2 * Number(chosen)), dayFromToday(1 - Number(chosen)), tomorrow];
  const earlier = chosen.endsWith('month') ? 'the month before' : `the ${chosen} days before`;
  return {
    days: daysUntil(from, until),
    earlier,
    before,
    from,
    until,
    since: `${from}T00:00:00Z`,
    end: `${until}T00:00:00Z`,
  };
}

export function OverviewPage() {
  const [chosen, choose] = useFilter('days');
  const days = PERIODS.find(([period]) => period === chosen)?.[0] ?? '30';
  const period = useMemo(() => periodOf(days), [days]);
  return (
    <PageFrame
      title="Overview"
      intro="What the agents did and cost, and what needs a person. Days are in UTC."
      actions={<Segments label="Period" value={days} onChange={choose} choices={PERIODS} />}
    >
      <Period key={days} {...period} />
    </PageFrame>
  );
}

interface PeriodProps {
  readonly days: readonly string[];
  /** The first day of the period before. */
  readonly before: string;
  /** The words for it. */
  readonly earlier: string;
  readonly from: string;
  /** The day after the last one. */
  readonly until: string;
  /** The first moment, and the one after the last. */
  readonly since: string;
  readonly end: string;
}

function Period(period: PeriodProps) {
  const { before, from, until, since, end } = period;
  const { data, faults, isLoading, paused, reload } = useQuery('Overview', { before, from, until, since, end });
  useFollowing(reload, isLoading, 15_000);
  const organization = data?.viewer.organization;
  return (
    <>
      <Faults faults={faults} /> {isLoading && !organization && <Loading paused={paused} />}
      {organization && <Content organization={organization} {...period} />}
    </>
  );
}

interface ContentProps extends PeriodProps {
  readonly organization: Organization;
}

function Content({ organization, days, earlier, from, until, since, end }: ContentProps) {
  const needs = useNeeds();
  const range = { from, to: days.at(-1) ?? from };
  const own = useOwnCosts();
  const mayReadEvents = useScope('BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE');
  const isEmpty = organization.days?.length === 0 && organization.usage?.totals.costUsd == null;
  return (
    <>
      <Figures organization={organization} range={range} earlier={earlier} own={own} others={needs.count} />
      <Work organization={organization} from={from} needs={needs} />
      {isEmpty ? (
        <Empty>
          Nothing was recorded in this period. <a href="/record">Record an agent</a>
        </Empty>
      ) : (
        <>
          <div class="plots">
            <SessionPlot organization={organization} days={days} />
            <CostPlot organization={organization} days={days} own={own} />
          </div>
          <Dearest sessions={organization.dearest?.nodes ?? []} range={range} />
          <UsageTable from={from} until={until} since={since} end={end} own={own} />
          <ToolTable rows={organization.tools?.rows ?? []} from={from} own={own} />
        </>
      )}
      {mayReadEvents && <EventPlot from={from} until={until} />}
    </>
  );
}

/** The first and last day, as the list of sessions takes them. */
interface Range {
  readonly from: string;
  readonly to: string;
}

interface FiguresProps {
  readonly organization: Organization;
  /** The words for the period before. */
  readonly earlier: string;
  readonly range: Range;
  /** The filter of the sessions of the caller, if costs are those of them. */
  readonly own: Readonly<Record<string, string>>;
  /** What else needs a person. */
  readonly others: number;
}

/** The numbers of the period, each with the list behind it; what was used, beside what was used in the period before. */
function Figures({ organization, range, earlier: words, own, others }: FiguresProps) {
  const { days: created, usage, earlier, running, failed } = organization;
  const failures = failed?.totalCount ?? 0;
  const whose = 'creator' in own ? 'of your sessions' : '';
  const before = (amount: string) => (amount === '–' ? whose : `${amount} in ${words}`);
  const tiles = [
    ['Sessions', countOf(sumOf(created ?? [], 'sessions')), sessionsOf({ ...range }), 'created'],
    ['Cost', costOf(usage?.totals.costUsd), '#by', before(costOf(earlier?.totals.costUsd))],
    ['Tokens', tokensIn(usage?.totals), '#by', before(tokensIn(earlier?.totals))],
    ['Running', countOf(running?.totalCount), sessionsOf({ state: 'IN_PROGRESS' }), 'at this moment'],
    ['Failed', countOf(sumOf(created ?? [], 'failed')), sessionsOf({ state: 'FAILED', ...range }), 'of these sessions'],
    ['Need a person', countOf(failures + others), '#needs', 'failed sessions included'],
  ] as const;
  return (
    <dl class="tiles">
      {tiles.map(([name, value, href, more]) => (
        <div key={name} class="panel">
          <dt>{name}</dt>
          <dd class="figure">
            <a href={href}>{value}</a>
          </dd>
          <dd class="soft">{more}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The sessions of the period that cost most. */
const Dearest = ({ sessions, range }: { readonly sessions: readonly Dear[]; readonly range: Range }) =>
  sessions.some(({ usage }) => usage?.costUsd != null) && (
    <div>
      <h2>Dearest sessions</h2>
      <Table
        label="Dearest sessions"
        head={['Title', 'Agent', 'Cost', 'Agent time']}
        rows={sessions.filter(({ usage }) => usage?.costUsd != null)}
        row={({ databaseId, title, agent, usage }) => (
          <tr key={databaseId}>
            <td class="wide">
              <a dir="auto" href={`/sessions/${databaseId}`}>
                {title}
              </a>
            </td>
            <td dir="auto">{agent ?? '–'}</td>
            <td class="number">{costOf(usage?.costUsd)}</td>
            <td class="number">{usage?.durationMs == null ? '–' : durationOf(usage.durationMs)}</td>
          </tr>
        )}
      />
      <p>
        <a href={sessionsOf({ ...range, sort: 'cost' })}>All sessions of this period by cost</a>
      </p>
    </div>
  );

/** What was read and written together. */
function tokensIn(totals: NonNullable<Organization['earlier']>['totals'] | undefined): string {
  const { inputTokens = null, outputTokens = null } = totals ?? {};
  return shortCount(inputTokens === null ? outputTokens : inputTokens + (outputTokens ?? 0));
}

/** The states of sessions with the classes of their colors, from the ground up. */
const STATES = [
  ['failed', 'FAILED', 'bad'],
  ['completed', 'COMPLETED', 'good'],
  ['inProgress', 'IN_PROGRESS', ''],
  ['queued', 'QUEUED', 'warn'],
  ['cancelled', 'CANCELLED', 'none'],
] as const;

const sumOf = (rows: readonly Counts[], name: Exclude<keyof Counts, 'key'>) =>
  rows.reduce((sum, row) => sum + row[name], 0);

/** The sessions of some days in words, with the states that some have. */
function countsInWords(rows: readonly Counts[]): string {
  const ofStates = STATES.map(([name, state]) => [sumOf(rows, name), wordsOf(state).toLowerCase()] as const);
  const parts = ofStates.filter(([count]) => count > 0).map(([count, words]) => `${countOf(count)} ${words}`);
  return [counted(sumOf(rows, 'sessions'), 'session'), ...parts].join(', ');
}

interface PlotProps {
  readonly organization: Organization;
  readonly days: readonly string[];
}

/** The sessions of each day of creation by their present state: as many as the list has that a number leads to. */
function SessionPlot({ organization, days }: PlotProps) {
  const rows = organization.days ?? [];
  const byDay = Map.groupBy(rows, ({ key }) => key);
  const bars = days.map((day): Bar => {
    const ofDay = byDay.get(day) ?? [];
    const onDay = { from: day, to: day };
    const cell = (count: number, filter: Readonly<Record<string, string>>) => (
      <a href={sessionsOf({ ...filter, ...onDay })}>{countOf(count)}</a>
    );
    return {
      name: dayName(day),
      words: `${dayName(day)}: ${countsInWords(ofDay)}`,
      parts: STATES.map(([name]) => sumOf(ofDay, name)),
      cells: [
        cell(sumOf(ofDay, 'sessions'), {}),
        ...STATES.map(([name, state]) => cell(sumOf(ofDay, name), { state })),
      ],
      href: sessionsOf(onDay),
    };
  });
  return (
    <section aria-labelledby="by-state">
      <h2 id="by-state">Sessions by day and state</h2>
      <BarPlot
        label="Sessions by day"
        bars={bars}
        parts={STATE_PARTS}
        format={countTick}
        summary={countsInWords(rows)}
        head={['Day', 'Sessions', ...STATE_PARTS.map(([name]) => name)]}
      />
    </section>
  );
}

const STATE_PARTS = STATES.map(([, state, tone]) => [wordsOf(state), tone] as const);

/** The costs of each day of recording. A day leads to the sessions that were created until then and recorded since. */
function CostPlot({ organization, days, own }: PlotProps & { readonly own: Readonly<Record<string, string>> }) {
  const byDay = new Map((organization.usage?.rows ?? []).map((row) => [row.key, row]));
  const { usage } = organization;
  if (usage?.totals.costUsd == null && tokensIn(usage?.totals) === '–') return null;
  const bars = days.map((day): Bar => {
    const { costUsd = null, inputTokens = null, outputTokens = null } = byDay.get(day) ?? {};
    const href = sessionsOf({ to: day, seen: day, ...own });
    const cell = (text: string) => <a href={href}>{text}</a>;
    return {
      name: dayName(day),
      words: `${dayName(day)}: ${costOf(costUsd)}, ${countOf(inputTokens)} tokens in, ${countOf(outputTokens)} out`,
      parts: [costUsd ?? 0],
      cells: [cell(costOf(costUsd)), cell(countOf(inputTokens)), cell(countOf(outputTokens))],
      href,
    };
  });
  return (
    <section aria-labelledby="by-cost">
      <h2 id="by-cost">Cost by day</h2>
      <BarPlot
        label="Cost by day"
        bars={bars}
        parts={COST}
        format={shortCost}
        summary={`${costOf(usage?.totals.costUsd)} in ${counted(days.length, 'day')}. A day leads to the sessions that were open on it.`}
        head={['Day', 'Cost', 'Tokens in', 'Tokens out']}
      />
    </section>
  );
}

const COST = [['Cost', '']] as const;
