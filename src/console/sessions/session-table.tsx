import { costOf, durationOf, shortCount } from '../parts/amounts.ts';
import { MAX_AT_ONCE } from '../parts/api.ts';
import { useFilter } from '../parts/filters.tsx';
import type { Pages } from '../parts/hooks.ts';
import { type Content, visibleText } from '../parts/markup.ts';
import { Badge, type Column, List, TimeCell } from '../parts/parts.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import type { Variables } from '../generated/operation-types.ts';
import { ChosenSessions, type Row } from './chosen-sessions.tsx';
import { ListedSessionActions } from './session-actions.tsx';
import { Marks } from './session-head.tsx';

/** The table of the sessions: its columns, their orders, and the sessions that are chosen in it. */

type OrderBy = NonNullable<Variables['Sessions']['orderBy']>;
type Usage = NonNullable<Row['usage']>;

interface NumberColumn {
  readonly name: string;
  readonly field: NonNullable<OrderBy['field']>;
  /** Null if nobody has reported it. */
  readonly valueOf: (usage: Usage) => number | null;
  readonly textOf: (value: number) => string;
}

const tokensOf = ({ inputTokens, outputTokens }: Usage): number | null =>
  inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0);

const NUMBERS: readonly NumberColumn[] = [
  { name: 'Cost', field: 'COST', valueOf: ({ costUsd }) => costUsd, textOf: costOf },
  { name: 'Tokens', field: 'TOKENS', valueOf: tokensOf, textOf: shortCount },
  { name: 'Failures', field: 'TOOL_ERRORS', valueOf: ({ toolErrors }) => toolErrors, textOf: shortCount },
  { name: 'Agent time', field: 'DURATION', valueOf: ({ durationMs }) => durationMs, textOf: durationOf },
];

export const BY_TIME: OrderBy = { field: 'LAST_SEEN_AT', direction: 'DESC' };

/** The order of the list, which is in the address: `cost` from the largest, `-cost` from the smallest. */
export function useOrder() {
  const [sort, setSort] = useFilter('sort');
  const column = NUMBERS.find(({ field }) => field.toLowerCase() === sort.replace('-', ''));
  const by: OrderBy = column ? { field: column.field, direction: sort.startsWith('-') ? 'ASC' : 'DESC' } : BY_TIME;
  const headOf = (name: string, field: OrderBy['field']): Column => {
    const isThis = by.field === field;
    const isDescending = isThis && by.direction === 'DESC';
    const given = (field ?? '').toLowerCase();
    const sorted = field === BY_TIME.field ? '' : isDescending ? `-${given}` : given;
    const order = isThis && (isDescending ? 'descending' : 'ascending');
    return { name, sort: () => setSort(sorted), ...(order && { order }) };
  };
  return { by, isByTime: !column, headOf };
}

interface TableProps {
  readonly list: Pages<Row>;
  readonly order: ReturnType<typeof useOrder>;
  /** Whether all of them have failed: why is of more use than their state. */
  readonly hasReasons: boolean;
  readonly empty: Content;
  readonly chosen: ReadonlySet<string>;
  readonly choose: (ids: ReadonlySet<string>) => void;
}

export function SessionTable({ list, order, hasReasons, empty, chosen, choose }: TableProps) {
  // A column is left out when no session of the whole list has a value.
  const numbers = NUMBERS.filter(
    ({ field, valueOf }) =>
      order.by.field === field ||
      ((!hasReasons || field === 'COST') &&
        (list.hasMore || list.rows.some(({ usage }) => usage && valueOf(usage) !== null))),
  );
  const head = [
    '',
    'Title',
    hasReasons ? 'Reason' : 'State',
    'Agent',
    ...numbers.map(({ name, field }) => order.headOf(name, field)),
    order.headOf('Last recorded', BY_TIME.field),
    '',
  ];
  const row = (session: Row) => {
    const toggle = () => {
      const next = new Set(chosen);
      if (!next.delete(session.id) && next.size < MAX_AT_ONCE) next.add(session.id);
      choose(next);
    };
    return rowOf(session, { numbers, hasReasons, isChosen: chosen.has(session.id), toggle, onDone: list.reload });
  };
  const rows = list.rows.filter(({ id }) => chosen.has(id));
  const done = () => {
    choose(new Set());
    list.reload();
  };
  return (
    <div>
      {rows.length > 0 && <ChosenSessions sessions={rows} onDone={done} onClear={() => choose(new Set())} />}
      <List label="Sessions" list={list} row={row} empty={empty} head={head} isDense />
    </div>
  );
}

interface RowContext {
  readonly numbers: readonly NumberColumn[];
  readonly hasReasons: boolean;
  readonly isChosen: boolean;
  readonly toggle: () => void;
  readonly onDone: () => void;
}

const rowOf = (session: Row, { numbers, hasReasons, isChosen, toggle, onDone }: RowContext) => (
  <tr key={session.id} class={isChosen ? 'is-chosen' : undefined}>
    <td class="choice">
      <label>
        <input
          type="checkbox"
          aria-label={`Choose ${visibleText(session.title)}`}
          checked={isChosen}
          onChange={toggle}
        />
      </label>
    </td>
    <TitleCell session={session} />
    {hasReasons ? (
      <td class="reason" dir="auto" title={visibleText(session.failureReason ?? '')}>
        <Marks session={session} /> {session.failureReason ?? <span class="soft">–</span>}
      </td>
    ) : (
      <td>
        <Badge value={session.state.current} /> <Marks session={session} />
      </td>
    )}
    <td class="minor" dir="auto" title={visibleText(session.agent ?? '')}>
      {session.agent ? <span class="cut">{session.agent}</span> : <span class="soft">–</span>}
    </td>
    {numbers.map(({ name, valueOf, textOf }) => {
      const value = session.usage && valueOf(session.usage);
      return (
        <td key={name} class="number">
          {value == null ? '–' : textOf(value)}
        </td>
      );
    })}
    <TimeCell at={session.lastSeenAt} isShort />
    <td class="end">
      <RowActions>
        <ListedSessionActions session={session} onChange={onDone} />
      </RowActions>
    </td>
  </tr>
);

const TitleCell = ({ session, ...attributes }: { readonly session: Row }) => (
  <td class="wide" {...attributes}>
    <div class="line">
      {session.isPinned && (
        <span role="img" aria-label="Pinned">
          ★
        </span>
      )}
      <a dir="auto" href={`/sessions/${session.databaseId}`} title={visibleText(session.title)}>
        {session.title}
      </a>
      {session.project && <span class="soft">{session.project.name}</span>}
      {session.visibility === 'PRIVATE' && (
        <span class="badge" title="Only its creator and administrators can read it">
          Private
        </span>
      )}
    </div>
  </td>
);
