import { useMemo } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { happenedIn } from './session-contents.tsx';
import { type Entry, type Outline, nameOf } from './session-outline.ts';
import { type Column, WIDTH, columnsOf } from './session-strip.tsx';

/** The subagents of a session under its strip, with the same time to the right: when each began and ended. A click goes to its first event. */

const MAX_LANES = 12;
/** More are folded, so that the first event is on the first screen. */
const MAX_OPEN = 4;
/** The names of later ones begin here, so that they have room. */
const MAX_MARGIN = 70;

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const timeOf = (at: string) => clock.format(new Date(at));

interface LanesProps {
  readonly sessionId: string;
  readonly outline: Outline;
}

export function SessionLanes({ sessionId, outline: { marks, entries } }: LanesProps) {
  const columns = useMemo(() => columnsOf(marks), [marks]);
  const lanes = useMemo(() => lanesOf(entries), [entries]);
  const rest = lanes.slice(MAX_LANES).map(({ entry }) => entry);
  const failed = rest.filter(({ failures }) => failures > 0).length;
  const errors = lanes.filter(({ entry }) => entry.failures > 0).length;
  const rows = (
    <>
      <ol>
        {lanes.slice(0, MAX_LANES).map((lane) => (
          <Row key={lane.entry.subagentId} sessionId={sessionId} columns={columns} lane={lane} />
        ))}
      </ol>
      {rest.length > 0 && (
        <p class="soft">
          {counted(rest.length, 'further subagent')}
          {failed > 0 && `, ${failed} of them with errors`}: see the outline.
        </p>
      )}
    </>
  );
  return (
    <section class="lanes" aria-label="Subagents">
      {lanes.length > MAX_OPEN ? (
        <details>
          <summary>
            {counted(lanes.length, 'subagent')}
            {errors > 0 && `, ${errors} of them with errors`}
          </summary>
          {rows}
        </details>
      ) : (
        rows
      )}
    </section>
  );
}

interface RowProps {
  readonly sessionId: string;
  readonly columns: readonly Column[];
  readonly lane: Lane;
}

function Row({ sessionId, columns, lane: { entry, parent, depth } }: RowProps) {
  const { eventId, lastId, createdAt, endedAt, failures } = entry;
  const from = columnAt(columns, eventId)?.x ?? 0;
  const end = columnAt(columns, lastId);
  const until = end ? end.x + end.markWidth : WIDTH;
  const words = [
    `${timeOf(createdAt)} to ${timeOf(endedAt)}`,
    happenedIn(entry),
    parent && `started by ${nameOf(parent)}`,
  ];
  const said = words.filter(Boolean).join(', ');
  const name = `${'› '.repeat(Math.min(depth, MAX_DEPTH))}${nameOf(entry)}`;
  return (
    <li class={failures > 0 ? 'failed' : ''}>
      <a href={`/sessions/${sessionId}#event-${eventId}`} title={said}>
        <span class="lane-name" style={{ marginLeft: `${Math.min((100 * from) / WIDTH, MAX_MARGIN)}%` }}>
          {name}
        </span>
        <span class="visually-hidden">, {said}</span>
        {failures > 0 && (
          <>
            {' '}
            <span class="fault" aria-hidden="true">
              {counted(failures, 'error')}
            </span>
          </>
        )}
        <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
          <rect x={from} width={Math.max(until - from, 4)} height="1" />
        </svg>
      </a>
    </li>
  );
}

const MAX_DEPTH = 4;

const columnAt = (columns: readonly Column[], eventId: string | number): Column | undefined =>
  columns.findLast(({ id }) => id <= Number(eventId));

interface Lane {
  readonly entry: Entry;
  readonly parent: Entry | undefined;
  readonly depth: number;
}

/** Each subagent, followed by those that it started. */
function lanesOf(entries: readonly Entry[]): readonly Lane[] {
  const known = new Map<string | null, Entry>();
  const started = Map.groupBy(
    entries.filter(({ kind }) => kind === 'SUBAGENT'),
    (entry) => {
      // Only of an earlier one, so that none is started by itself.
      const parent = known.get(entry.parentId);
      known.set(entry.subagentId, entry);
      return parent;
    },
  );
  const lanes: Lane[] = [];
  const add = (parent: Entry | undefined, depth: number) => {
    for (const entry of started.get(parent) ?? []) {
      lanes.push({ entry, parent, depth });
      add(entry, depth + 1);
    }
  };
  add(undefined, 0);
  return lanes;
}
