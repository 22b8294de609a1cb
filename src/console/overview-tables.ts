import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { costOf, countOf, durationOf, shortCount } from './amounts.ts';
import { Share, largestOf } from './bar-plot.ts';
import { Segments, useFilter } from './filters.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { sessionsOf } from './navigation.ts';
import type { Answers } from './operation-types.ts';
import { Faults, Loading, Table } from './parts.ts';

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
/** The filter of the sessions of a group. There is none by model. */
const FILTERS: Readonly<Record<string, string>> = { AGENT: 'agent', PROJECT: 'project', CREATOR: 'creator' };

/** Before the others are shown. */
const FIRST = 10;

interface UsageProps {
  readonly from: string;
  readonly until: string;
}

export function UsageTable({ from, until }: UsageProps): VNode {
  const [by, setBy] = useFilter('by');
  const [groupBy, name] = GROUPS.find(([group]) => group === by) ?? GROUPS[0];
  const { data, faults, isLoading } = useQuery('UsageReport', { from, until, groupBy });
  const rows = (data?.viewer.organization?.usageReport?.rows ?? []).filter(isUsed);
  const largest = { cost: largestOf(rows.map(costOfRow)), tokens: largestOf(rows.map(tokensOf)) };
  const row = (each: Row) => rowOf(each, { largest, filter: FILTERS[groupBy], from });
  return html`<section aria-labelledby="by">
    <div class="section-head">
      <h2 id="by">Cost and tokens by ${name.toLowerCase()}</h2>
      <${Segments} label="Costs by" value=${groupBy} onChange=${setBy} choices=${GROUPS} />
    </div>
    <${Faults} faults=${faults} />
    ${isLoading && rows.length === 0 && html`<${Loading} />`}
    ${
      rows.length > 0 &&
      html`<${Rows}
        label=${`Costs by ${name.toLowerCase()}`}
        head=${[name, 'Cost', 'Tokens', 'Sessions', 'Failed', 'Time per session']}
        rows=${rows}
        row=${row}
      />`
    }
  </section>`;
}

const isUsed = (row: Row) => row.costUsd !== null || tokensOf(row) > 0 || (row.sessions ?? 0) > 0;
const costOfRow = ({ costUsd }: Row) => costUsd ?? 0;
const tokensOf = ({ inputTokens, outputTokens }: Row) => (inputTokens ?? 0) + (outputTokens ?? 0);

interface RowContext {
  readonly largest: { readonly cost: number; readonly tokens: number };
  readonly filter: string | undefined;
  readonly from: string;
}

function rowOf(row: Row, { largest, filter, from }: RowContext): VNode {
  const { key, label, sessions, failedSessions, costUsd, inputTokens, outputTokens, durationMs } = row;
  const isListed = filter !== undefined && key !== null && key !== 'other';
  const linked = (text: unknown, more: Readonly<Record<string, string>> = {}) =>
    isListed ? html`<a dir="auto" href=${sessionsOf({ [filter]: key, from, ...more })}>${text}</a>` : text;
  const tokens =
    inputTokens === null && outputTokens === null
      ? '–'
      : `${shortCount(inputTokens)} in, ${shortCount(outputTokens)} out`;
  return html`<tr key=${key}>
    <td class="wide">${key === null ? html`<span class="soft">none</span>` : linked(label)}</td>
    <td class="number">${costOf(costUsd)}<${Share} part=${costUsd ?? 0} of=${largest.cost} /></td>
    <td class="number">${tokens}<${Share} part=${tokensOf(row)} of=${largest.tokens} /></td>
    <td class="number">${sessions === null ? '–' : linked(countOf(sessions))}</td>
    <td class="number">${failedSessions === null ? '–' : linked(countOf(failedSessions), { state: 'FAILED' })}</td>
    <td class="number">${sessions && durationMs !== null ? durationOf(durationMs / sessions) : '–'}</td>
  </tr>`;
}

/** The tools with the most failures first. Their numbers lead to the texts of their calls. */
export function ToolTable({ rows, from }: { readonly rows: readonly Tool[]; readonly from: string }): VNode | null {
  const called = rows.filter(({ toolCalls }) => toolCalls !== null);
  if (called.length === 0) return null;
  const failures = ({ toolErrors }: Tool) => toolErrors ?? 0;
  const sorted = called.toSorted((one, other) => failures(other) - failures(one));
  const failing = sorted.filter((tool) => failures(tool) > 0).length;
  const row = (tool: Tool) => {
    const { key, label, toolCalls } = tool;
    const calls = toolCalls ?? 0;
    const percent = calls > 0 ? Math.round((100 * failures(tool)) / calls) : 0;
    const linked = (text: string) =>
      key === null || key === 'other' ? text : html`<a href=${sessionsOf({ text: `"${key}"`, from })}>${text}</a>`;
    return html`<tr key=${key}>
      <td class="wide">
        ${key === null ? html`<span class="soft">without a name</span>` : html`<code>${label}</code>`}
      </td>
      <td class="number">
        ${linked(countOf(failures(tool)))}<${Share}
          part=${failures(tool)}
          of=${failures(sorted[0] ?? tool)}
          tone="bad"
        />
      </td>
      <td class="number">${linked(countOf(calls))}</td>
      <td class="number">${percent} %<${Share} part=${percent} of=${100} tone="bad" /></td>
    </tr>`;
  };
  return html`<section aria-labelledby="tools">
    <h2 id="tools">Tools that fail</h2>
    <${Rows}
      label="Tools"
      head=${['Tool', 'Failed', 'Calls', 'Of all calls']}
      rows=${sorted}
      row=${row}
      first=${Math.min(FIRST, Math.max(1, failing))}
    />
  </section>`;
}

interface RowsProps<Item> {
  readonly label: string;
  readonly head: readonly string[];
  readonly rows: readonly Item[];
  readonly row: (row: Item) => VNode;
  /** How many are shown before the reader asks for all. */
  readonly first?: number;
}

function Rows<Item>({ label, head, rows, row, first = FIRST }: RowsProps<Item>): VNode {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, first);
  return html`<${Table} label=${label} head=${head} rows=${shown} row=${row} />
    ${shown.length < rows.length && html`<button class="button small plain more" onClick=${() => setWhole(true)}>All ${rows.length}</button>`}`;
}
