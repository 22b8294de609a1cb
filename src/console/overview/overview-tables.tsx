import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { costOf, countOf, durationOf, shortCount } from '../parts/amounts.ts';
import { Share, largestOf } from '../parts/bar-plot.tsx';
import { Segments, useFilter } from '../parts/filters.tsx';
import { useQuery } from '../parts/hooks.ts';
import { firstOfMonth, sessionsOf } from '../parts/navigation.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Faults, Loading, Table } from '../parts/parts.tsx';
import { FileExport } from '../parts/file-export.tsx';

/** What costs, and which tools fail: tables whose numbers have bars. */

type Report = NonNullable<NonNullable<Answers['UsageReport']['viewer']['organization']>['usageReport']>;
type Row = Report['rows'][number];
type Tool = NonNullable<NonNullable<Answers['Overview']['viewer']['organization']>['tools']>['rows'][number];

const GROUPS = [
  ['AGENT', 'Agent'],
  ['PROJECT', 'Project'],
  ['CREATOR', 'Person'],
  ['MODEL', 'Model'],
] as const;
/** The filter of the sessions of a group. */
const FILTERS = { AGENT: 'agent', PROJECT: 'project', CREATOR: 'creator', MODEL: 'model' } as const;

/** Before the others are shown. */
const FIRST = 10;

interface UsageProps {
  readonly from: string;
  readonly until: string;
  readonly since: string;
  readonly end: string;
  /** The filter of the sessions of the caller, if the costs are those of them. */
  readonly own: Readonly<Record<string, string>>;
}

/** Costs by day of recording, and the sessions that were created in the period and exist. */
export function UsageTable(props: UsageProps) {
  const [by, setBy] = useFilter('by');
  const [groupBy, name] = GROUPS.find(([group]) => group === by) ?? GROUPS[0];
  return (
    <section aria-labelledby="by">
      <div class="section-head">
        <h2 id="by">Cost and tokens by {name.toLowerCase()}</h2>
        <div class="actions">
          <Segments label="Costs by" value={groupBy} onChange={setBy} choices={GROUPS} />
          <FileExport label="Download CSV" {...reportOf(groupBy, props)} />
          <FileExport label="Last month as CSV" {...reportOf(groupBy, { ...props, ...lastMonth() })} />
        </div>
      </div>
      <p class="soft">
        {'creator' in props.own && 'Of your sessions. '}Costs, tokens and times lead to the sessions that were recorded
        in this period, the numbers of sessions to those that were created in it. Costs stay when sessions are deleted.
      </p>
      <UsageRows key={groupBy} groupBy={groupBy} name={name} {...props} />
    </section>
  );
}

const dayBefore = (day: string) => new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);

/** The days of the last month of the calendar, in UTC. */
const lastMonth = () => ({ from: firstOfMonth(-1), until: firstOfMonth(0) });

type ReportProps = Pick<UsageProps, 'from' | 'until' | 'own'>;

function reportOf(groupBy: GroupProps['groupBy'], { from, until, own }: ReportProps) {
  const creator: Readonly<Record<string, string>> = 'creator' in own ? { creatorIds: own['creator'] ?? '' } : {};
  const path = `/v1/usage-report?${new URLSearchParams({ from, until, groupBy, ...creator })}`;
  return { path, name: `usage-by-${groupBy.toLowerCase()}-${from}.csv`, format: 'csv' } as const;
}

interface GroupProps extends UsageProps {
  readonly groupBy: (typeof GROUPS)[number][0];
  readonly name: string;
}

function UsageRows({ from, until, since, end, own, groupBy, name }: GroupProps) {
  const filter = {
    createdFrom: since,
    createdBefore: end,
    ...('creator' in own && { creatorIds: [own['creator'] ?? ''] }),
  };
  const { data, faults, isLoading } = useQuery('UsageReport', { from, until, groupBy, filter });
  const { usageReport, sessionCounts } = data?.viewer.organization ?? {};
  const counts = new Map((sessionCounts ?? []).map((count) => [count.key, count]));
  const summed = usageReport?.rows ?? [];
  // Sessions of earlier versions have no sums.
  const others = [...counts.keys()].filter((key) => !summed.some((row) => row.key === key));
  const rows = [
    ...summed.filter((row) => isUsed(row) || counts.has(row.key)),
    ...others.map((key): Row => ({ ...NOTHING, key, label: key ?? '' })),
  ];
  const largest = { cost: largestOf(rows.map(costOfRow)), tokens: largestOf(rows.map(tokensOf)) };
  const row = (each: Row) =>
    rowOf(each, { largest, filter: FILTERS[groupBy], from, to: dayBefore(until), own, count: counts.get(each.key) });
  const table = (
    <Rows
      label={`Costs by ${name.toLowerCase()}`}
      head={[name, 'Cost', 'Tokens', 'Sessions', 'Failed', 'Per session']}
      rows={rows}
      row={row}
    />
  );
  return (
    <>
      <Faults faults={faults} /> {isLoading && rows.length === 0 && <Loading />}
      {rows.length > 0
        ? table
        : !isLoading && faults.length === 0 && <p class="soft">Nothing was used in this period.</p>}
    </>
  );
}

const NOTHING = { sessions: null, costUsd: null, inputTokens: null, outputTokens: null, durationMs: null };
const isUsed = (row: Row) => row.costUsd !== null || tokensOf(row) > 0;
const costOfRow = ({ costUsd }: Row) => costUsd ?? 0;
const tokensOf = ({ inputTokens, outputTokens }: Row) => (inputTokens ?? 0) + (outputTokens ?? 0);

interface RowContext {
  readonly largest: { readonly cost: number; readonly tokens: number };
  readonly filter: string;
  readonly from: string;
  /** The last day. */
  readonly to: string;
  readonly own: Readonly<Record<string, string>>;
  readonly count: { readonly sessions: number; readonly failed: number } | undefined;
}

function rowOf(row: Row, { largest, filter, from, to, own, count }: RowContext) {
  const { key, label, sessions, costUsd, inputTokens, outputTokens } = row;
  const linked = (text: string, more: Readonly<Record<string, string>>) =>
    key === null || key === 'other' ? (
      text
    ) : (
      <a dir="auto" href={sessionsOf({ [filter]: key, ...own, ...more })}>
        {text}
      </a>
    );
  const counted = (sum: 'sessions' | 'failed') => (key === 'other' ? '–' : countOf(count?.[sum] ?? 0));
  const recorded = (text: string) => linked(text, { seen: from });
  const perSession = ofEach(row, sessions ?? count?.sessions ?? 0);
  const tokens =
    inputTokens === null && outputTokens === null
      ? '–'
      : `${shortCount(inputTokens)} in, ${shortCount(outputTokens)} out`;
  return (
    <tr key={key}>
      <td class="wide">{key === null ? <span class="soft">none</span> : recorded(label)}</td>
      <td class="number">
        {recorded(costOf(costUsd))}
        <Share part={costUsd ?? 0} of={largest.cost} />
      </td>
      <td class="number">
        {recorded(tokens)}
        <Share part={tokensOf(row)} of={largest.tokens} />
      </td>
      <td class="number">{linked(counted('sessions'), { from, to })}</td>
      <td class="number">{linked(counted('failed'), { state: 'FAILED', from, to })}</td>
      <td class="number">{perSession === '' ? '–' : recorded(perSession)}</td>
    </tr>
  );
}

/** What one of the sessions has cost and taken. The report counts no sessions by model, so those are taken that exist. */
function ofEach({ costUsd, durationMs }: Row, sessions: number): string {
  if (sessions === 0) return '';
  const parts = [
    costUsd === null ? [] : [costOf(costUsd / sessions)],
    durationMs === null ? [] : [durationOf(durationMs / sessions)],
  ];
  return parts.flat().join(', ');
}

interface ToolProps {
  readonly rows: readonly Tool[];
  readonly from: string;
  readonly own: Readonly<Record<string, string>>;
}

/** The tools with the most failures first. */
export function ToolTable({ rows, from, own }: ToolProps) {
  const called = rows.filter(({ toolCalls }) => toolCalls !== null);
  if (called.length === 0) return null;
  const failures = ({ toolErrors }: Tool) => toolErrors ?? 0;
  const sorted = called.toSorted((one, other) => failures(other) - failures(one));
  const failing = sorted.filter((tool) => failures(tool) > 0).length;
  const row = (tool: Tool) => {
    const { key, label, toolCalls } = tool;
    const calls = toolCalls ?? 0;
    const percent = calls > 0 ? Math.round((100 * failures(tool)) / calls) : 0;
    const linked = (text: string, filter: 'tool' | 'failedTool') =>
      key === null || key === 'other' ? text : <a href={sessionsOf({ [filter]: key, seen: from, ...own })}>{text}</a>;
    return (
      <tr key={key}>
        <td class="wide">{key === null ? <span class="soft">without a name</span> : <code>{label}</code>}</td>
        <td class="number">
          {linked(countOf(failures(tool)), 'failedTool')}
          <Share part={failures(tool)} of={failures(sorted[0] ?? tool)} tone="bad" />
        </td>
        <td class="number">{linked(countOf(calls), 'tool')}</td>
        <td class="number">
          {linked(`${percent} %`, 'failedTool')}
          <Share part={percent} of={100} tone="bad" />
        </td>
      </tr>
    );
  };
  return (
    <section aria-labelledby="tools">
      <h2 id="tools">Tools that fail</h2>
      <p class="soft">
        {'creator' in own && 'Of your sessions. '}Failures lead to the sessions in which the tool has failed, calls to
        those in which it was called, and which were recorded in this period.
      </p>
      <Rows
        label="Tools"
        head={['Tool', 'Failed', 'Calls', 'Of all calls']}
        rows={sorted}
        row={row}
        first={Math.min(FIRST, Math.max(1, failing))}
      />
    </section>
  );
}

interface RowsProps<Item> {
  readonly label: string;
  readonly head: readonly string[];
  readonly rows: readonly Item[];
  readonly row: (row: Item) => VNode;
  /** How many are shown before the reader asks for all. */
  readonly first?: number;
}

function Rows<Item>({ label, head, rows, row, first = FIRST }: RowsProps<Item>) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, first);
  return (
    <>
      <Table label={label} head={head} rows={shown} row={row} />
      {shown.length < rows.length && (
        <button class="button small plain more" onClick={() => setWhole(true)}>
          All {rows.length}
        </button>
      )}
    </>
  );
}
