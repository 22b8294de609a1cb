import { useMemo, useRef, useState } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { type Mark, type Outline, sumOf } from './session-outline.ts';
import { useVisibleEvent } from './visible-event.ts';
import { goToEvent } from './wanted-event.ts';

/** The whole of a session over its timeline: time to the right; messages, tool calls and failures in three rows. A click or a key goes there, and Enter moves the focus to the event. */

export const WIDTH = 1000;
const HEIGHT = 30;
const MAX_COLUMNS = 240;
/** Longer pauses are drawn as long as this, because they would leave no room for the rest. */
const MAX_PAUSE_MS = 5 * 60_000;

const LANES = [
  ['messages', 1],
  ['toolCalls', 11],
  ['failures', 21],
] as const;
const LANE_HEIGHT = 8;

export interface Column {
  readonly mark: Mark;
  readonly id: number;
  readonly x: number;
  readonly width: number;
  /** How wide its marks are: not as long as the time until the next one. */
  readonly markWidth: number;
  readonly pauseMs: number;
}

/** Marks with their places: half by time, half by order, so that events of the same moment have a place too. */
export function columnsOf(marks: readonly Mark[]): readonly Column[] {
  const first = Number(marks[0]?.firstId);
  const size = Math.ceil((Number(marks.at(-1)?.firstId) - first + 1) / MAX_COLUMNS);
  const groups = Map.groupBy(marks, ({ firstId }) => Math.floor((Number(firstId) - first) / size));
  const sums = Array.from(groups.values(), sumOf);
  const times = sums.map(({ createdAt }) => Date.parse(createdAt));
  const gaps = times.map((at, index) => Math.max(0, (times[index + 1] ?? at) - at));
  const shown = gaps.map((gap) => Math.min(gap, MAX_PAUSE_MS));
  const total = shown.reduce((sum, gap) => sum + gap, 0);
  const least = (total || sums.length) / sums.length;
  let x = 0;
  return sums.map((mark, index) => {
    const share = WIDTH / (total + least * sums.length);
    const width = ((shown[index] ?? 0) + least) * share;
    const markWidth = Math.min(width, 2 * least * share);
    const gap = gaps[index] ?? 0;
    const column = { mark, id: Number(mark.firstId), x, width, markWidth, pauseMs: gap > MAX_PAUSE_MS ? gap : 0 };
    x += width;
    return column;
  });
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const timeOf = ({ createdAt }: Mark) => clock.format(new Date(createdAt));

function wordsOf({ messages, toolCalls, failures }: Mark): string {
  const counts = [
    messages > 0 && counted(messages, 'message'),
    toolCalls > 0 && counted(toolCalls, 'tool call'),
    failures > 0 && counted(failures, 'failure'),
  ];
  return counts.filter(Boolean).join(', ');
}

export function SessionStrip({ outline }: { readonly outline: Outline }) {
  const visible = useVisibleEvent();
  const columns = useMemo(() => columnsOf(outline.marks), [outline.marks]);
  const [chosen, setChosen] = useState<number>();
  const place = useRef<HTMLDivElement>(null);
  if (columns.length === 0) return null;
  const current = lastOf(columns, ({ id }) => id <= visible);
  const at = Math.min(chosen ?? current, columns.length - 1);
  const go = (index: number, how: Jump = {}) => {
    const onStay = () => {
      place.current?.focus({ preventScroll: true });
      setChosen(index);
    };
    if (how.leaves) place.current?.blur();
    jump(columns[index] as Column, how, onStay);
  };
  const columnAt = ({ clientX }: MouseEvent) => {
    const { left = 0, width = 1 } = place.current?.getBoundingClientRect() ?? {};
    const x = ((clientX - left) / width) * WIDTH;
    return lastOf(columns, (column) => column.x <= x);
  };
  const pressed = (event: KeyboardEvent) => {
    const next = NEXT[event.key]?.(at, columns);
    if (next === undefined) return;
    event.preventDefault();
    go(Math.min(Math.max(next, 0), columns.length - 1), howOf(event));
  };
  const words = `${timeOf((columns[at] as Column).mark)}, event ${columns[at]?.id}: ${wordsOf((columns[at] as Column).mark) || 'no message, no tool call'}`;
  return (
    <div class="strip">
      <div
        ref={place}
        role="slider"
        tabindex={0}
        aria-label="Place in the session"
        aria-valuemin={1}
        aria-valuemax={outline.lastId}
        aria-valuenow={columns[at]?.id}
        aria-valuetext={words}
        onKeyDown={pressed}
        onClick={(event: MouseEvent) => go(columnAt(event), { isFailure: isInFailures(event, place.current) })}
        onMouseMove={(event: MouseEvent) => setChosen(columnAt(event))}
        onMouseLeave={() => setChosen(undefined)}
        onBlur={() => setChosen(undefined)}
      >
        <Plot columns={columns} />
        <Cursor column={columns[current]} className="strip-visible" />
        {chosen !== undefined && <Cursor column={columns[at]} className="strip-chosen" />}
      </div>
      <p class="strip-words soft" aria-hidden="true">
        {chosen === undefined ? summaryOf(outline) : words} {!outline.isComplete && ' …'}
      </p>
    </div>
  );
}

const lastOf = (columns: readonly Column[], test: (column: Column) => boolean) =>
  Math.max(0, columns.findLastIndex(test));

interface Jump {
  /** Whether it goes to the failure of the column. */
  readonly isFailure?: boolean;
  /** Whether the focus goes to the event, too. */
  readonly leaves?: boolean;
}

const howOf = ({ key }: KeyboardEvent): Jump => ({
  isFailure: key === 'Enter' || key.startsWith('Page'),
  leaves: key === 'Enter',
});

function jump({ mark, id }: Column, { isFailure, leaves }: Jump, onStay: () => void): void {
  // The navigation to another fragment takes the focus away.
  if (!leaves) addEventListener('hashchange', onStay, { once: true });
  goToEvent(isFailure && mark.failureId !== null ? Number(mark.failureId) : id);
}

const NEXT: Readonly<Record<string, (at: number, columns: readonly Column[]) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowDown: (at) => at - 1,
  ArrowUp: (at) => at + 1,
  Home: () => 0,
  End: (_, columns) => columns.length - 1,
  Enter: (at) => at,
  ' ': (at) => at,
  PageUp: (at, columns) =>
    orAt(
      at,
      columns.findLastIndex(({ mark }, index) => index < at && mark.failures > 0),
    ),
  PageDown: (at, columns) =>
    orAt(
      at,
      columns.findIndex(({ mark }, index) => index > at && mark.failures > 0),
    ),
};
const orAt = (at: number, found: number) => (found < 0 ? at : found);

/** Whether a click is in the row of failures. */
function isInFailures({ clientY }: MouseEvent, place: HTMLElement | null): boolean {
  const { top = 0, height = 1 } = place?.getBoundingClientRect() ?? {};
  return ((clientY - top) / height) * HEIGHT >= LANES[2][1] - 1;
}

/** Failed tool calls, and what else was reported as an error. */
function failuresOf(failures: number, tools: Outline['tools']): string {
  const calls = tools.reduce((sum, tool) => sum + tool.failures, 0);
  const others = failures - calls;
  const words = [calls > 0 && counted(calls, 'failed tool call'), others > 0 && counted(others, 'other error')];
  return words.filter(Boolean).join(', ') || 'no errors';
}

function summaryOf({ marks, tools }: Outline) {
  const all = sumOf(marks);
  const last = marks.at(-1) ?? all;
  const legend = [
    ['messages', counted(all.messages, 'message')],
    ['toolCalls', counted(all.toolCalls, 'tool call')],
    ['failures', failuresOf(all.failures, tools)],
  ];
  return (
    <>
      <span>{timeOf(all)}</span>
      {legend.map(([name, text]) => (
        <span key={name} class={`key ${name}`}>
          {text}
        </span>
      ))}
      <span>{timeOf(last)}</span>
    </>
  );
}

const Plot = ({ columns }: { readonly columns: readonly Column[] }) =>
  useMemo(() => {
    const lanes = LANES.map(([field, y]) => {
      const most = columns.reduce((largest, { mark }) => Math.max(largest, mark[field]), 1);
      return columns.map(({ mark, x, markWidth, id }) => {
        if (mark[field] === 0) return null;
        const opacity = 0.4 + 0.6 * (mark[field] / most);
        return (
          <rect
            key={id}
            class={field}
            x={x}
            y={y}
            width={Math.max(markWidth - 0.8, 1.5)}
            height={LANE_HEIGHT}
            opacity={opacity}
          />
        );
      });
    });
    const pauses = columns.map(
      ({ pauseMs, x, width, markWidth, id }) =>
        pauseMs > 0 && (
          <rect key={id} class="pause" x={x + markWidth} y="0" width={width - markWidth} height={HEIGHT} />
        ),
    );
    return (
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {pauses}
        {lanes}
      </svg>
    );
  }, [columns]);

const Cursor = ({ column, className }: { readonly column: Column | undefined; readonly className: string }) => (
  <svg class={className} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    <rect x={column?.x ?? 0} y="0" width={Math.max(column?.width ?? 0, 2)} height={HEIGHT} />
  </svg>
);
