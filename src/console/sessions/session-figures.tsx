import type { Content } from '../parts/markup.ts';
import { useMemo, useState } from 'preact/hooks';
import { durationOf } from '../parts/amounts.ts';
import { type Bar, BarPlot } from '../parts/bar-plot.tsx';
import { Button } from '../parts/button.tsx';
import { Empty, Loading } from '../parts/parts.tsx';
import { type Entry, type Mark, type Outline, type Tool, nameOf } from './session-outline.ts';
import { type Column, columnsOf } from './session-strip.tsx';

/** The figures of a session: its tools as bars, and how cost and tokens grew. */

const COUNT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const COST = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

interface FiguresProps {
  readonly id: string;
  readonly outline: Outline | undefined;
}

export function SessionFigures({ id, outline }: FiguresProps) {
  const columns = useMemo(() => columnsOf(outline?.marks ?? []), [outline]);
  if (!outline) return <Loading />;
  if (outline.isComplete && outline.tools.length === 0 && columns.every(({ mark }) => mark.inputTokens === 0))
    return <Empty>No tool was called, and no tokens were reported.</Empty>;
  return (
    <div class="figures">
      {!outline.isComplete && (
        <p class="soft" role="status">
          Events up to {COUNT.format(outline.lastId)} have been read…
        </p>
      )}
      <div class="panels">
        <Growth label="Cost" columns={columns} amountOf={(mark: Mark) => mark.costUsd} format={COST} />
        <Growth
          label="Tokens"
          columns={columns}
          amountOf={(mark: Mark) => mark.inputTokens + mark.outputTokens}
          format={COMPACT}
        />
      </div>
      <Tools sessionId={id} tools={outline.tools} />
      <Subagents sessionId={id} entries={outline.entries} />
      {outline.models.length > 0 && (
        <>
          <h2>Models</h2>
          <ul class="chips">
            {outline.models.map((model) => (
              <li key={model}>{model}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function Tools({ sessionId, tools }: { readonly sessionId: string; readonly tools: readonly Tool[] }) {
  if (tools.length === 0) return null;
  const sorted = tools.toSorted((one, other) => other.calls - one.calls);
  const most = sorted[0]?.calls ?? 1;
  return (
    <>
      <h2>Tools</h2>
      <FigureTable label="Tools" head={['Tool', 'Calls', '', 'Failed', 'Time']}>
        {sorted.map(({ name, calls, failures, durationMs, firstId, failureId }) => (
          <tr key={name}>
            <th scope="row">
              <a href={`/sessions/${sessionId}#event-${firstId}`}>{name || 'without a name'}</a>
            </th>
            <td class="number">{COUNT.format(calls)}</td>
            <td class="bar">
              <CallsBar calls={calls / most} failures={failures / most} />
            </td>
            <td class="number">
              {failureId === null ? (
                ''
              ) : (
                <a class="fault" href={`/sessions/${sessionId}#event-${failureId}`}>
                  {COUNT.format(failures)}
                </a>
              )}
            </td>
            <td class="number">{durationMs > 0 ? durationOf(durationMs) : ''}</td>
          </tr>
        ))}
      </FigureTable>
    </>
  );
}

/** More are shown on demand. */
const MAX_SUBAGENTS = 4;

interface SubagentsProps {
  readonly sessionId: string;
  readonly entries: readonly Entry[];
}

function Subagents({ sessionId, entries }: SubagentsProps) {
  const [isWhole, setWhole] = useState(false);
  const subagents = entries.filter(({ kind }) => kind === 'SUBAGENT');
  const shown = isWhole ? subagents : subagents.slice(0, MAX_SUBAGENTS);
  if (subagents.length === 0) return null;
  return (
    <>
      <h2>Subagents</h2>
      <p class="soft">The time of a subagent is from the call that started it to its result, or to its last event.</p>
      <FigureTable label="Subagents" head={['Subagent', 'Time', 'Calls', 'Errors']}>
        {shown.map(({ eventId, createdAt, endedAt, toolCalls, failures, failureId, ...entry }) => (
          <tr key={eventId}>
            <th scope="row">
              <a href={`/sessions/${sessionId}#event-${eventId}`}>{nameOf(entry)}</a>
            </th>
            <td class="number">{durationOf(Date.parse(endedAt) - Date.parse(createdAt))}</td>
            <td class="number">{COUNT.format(toolCalls)}</td>
            <td class="number">
              {failureId === null ? (
                ''
              ) : (
                <a class="fault" href={`/sessions/${sessionId}#event-${failureId}`}>
                  {COUNT.format(failures)}
                </a>
              )}
            </td>
          </tr>
        ))}
      </FigureTable>
      {shown.length < subagents.length && (
        <Button onClick={() => setWhole(true)}>All {COUNT.format(subagents.length)} subagents</Button>
      )}
    </>
  );
}

interface FigureTableProps {
  readonly label: string;
  /** The names of the columns; empty for one of bars. */
  readonly head: readonly string[];
  readonly children?: Content;
}

const FigureTable = ({ label, head, children }: FigureTableProps) => (
  <div class="table-scroll" role="region" aria-label={label} tabindex={0}>
    <table class="tools">
      <thead>
        <tr>
          {head.map((name, index) =>
            name === '' ? (
              <td></td>
            ) : (
              <th scope="col" class={index > 0 ? 'number' : undefined}>
                {name}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

const CallsBar = ({ calls, failures }: { readonly calls: number; readonly failures: number }) => (
  <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect class="toolCalls" width={100 * calls} height="10" />
    <rect class="failures" width={100 * failures} height="10" />
  </svg>
);

interface GrowthProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly amountOf: (mark: Mark) => number;
  readonly format: Intl.NumberFormat;
}

const MAX_BARS = 40;

/** What had been used by then, from the first event to the last. */
function Growth({ label, columns, amountOf, format }: GrowthProps) {
  let sum = 0;
  const points = columns.map(({ mark }) => ({
    time: clock.format(new Date(mark.createdAt)),
    sum: (sum += amountOf(mark)),
  }));
  if (sum === 0) return null;
  const step = Math.ceil(points.length / MAX_BARS);
  const shown = points.filter((_, index) => index % step === step - 1 || index === points.length - 1);
  const bars = shown.map(({ time, sum: used }): Bar => {
    const amount = format.format(used);
    return { name: time, words: `Until ${time}: ${amount}`, parts: [used], cells: [amount] };
  });
  return (
    <section>
      <h2>{label}</h2>
      <BarPlot
        label={`${label} over the session`}
        bars={bars}
        parts={[[label, '']]}
        format={(value: number) => format.format(value)}
        summary={`${format.format(sum)} at its end`}
        head={['Until', label]}
      />
    </section>
  );
}
