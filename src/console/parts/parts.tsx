import { type VNode, cloneElement, isValidElement, toChildArray } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import type { Fault, Paused } from './api.ts';
import { type Loaded, type Pages, useKeptFocus, useTitleFocus } from './hooks.ts';
import { ConfirmDialog } from './dialogs.tsx';
import { type Content, visibleText } from './markup.ts';
import { LoadMore } from './load-more.tsx';
import { CopyButton } from './copyable.tsx';
import { FaultText } from './fault-text.tsx';

export { Badge, wordsOf } from './badge.tsx';
export { Time, TimeCell } from './time.tsx';

/** Shared components of the pages. */

export const ROLES = [
  ['MEMBER', 'Member'],
  ['VIEWER', 'Viewer'],
  ['ADMIN', 'Administrator'],
] as const;
export type Role = (typeof ROLES)[number][0];

export const roleOf = (value: unknown): Role => ROLES.find(([role]) => role === value)?.[0] ?? 'MEMBER';

export const roleName = (role: Role): string => ROLES.find(([value]) => value === role)?.[1] ?? role;

/** What the console shows of a person, or of a service account. */
type Author =
  | { readonly name: string | null; readonly email: string | null }
  | { readonly displayName: string }
  | null
  | undefined;

export function personOf(author: Author): string {
  if (author && 'displayName' in author) return `${author.displayName} (service account)`;
  return author?.name ?? author?.email ?? 'no longer a member';
}

export function Faults({ faults }: { readonly faults: readonly Fault[] }) {
  if (faults.length === 0) return null;
  const messages = [...new Set(faults.map(({ message }) => sentenceOf(message)))];
  return (
    <div class="notice" role="alert">
      {messages.map((message) => (
        <p>{message}</p>
      ))}
    </div>
  );
}

/** Something that the reader should know of the page; with `alert`, a failure. */
export const Notice = ({
  role = 'status',
  children,
}: {
  readonly role?: 'status' | 'alert';
  readonly children: Content;
}) => (
  <p class="notice" role={role}>
    {children}
  </p>
);

/** The messages of the API begin with a lower-case letter, except for names. */
export const sentenceOf = (message: string): string =>
  /^[a-z]+ /.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message;

interface PageProps {
  readonly title: string;
  readonly intro?: string;
  readonly actions?: Content;
  readonly children?: Content;
}

const MAX_TITLE = 80;

export function PageFrame({ title, intro, actions, children }: PageProps) {
  useTitleFocus();
  useEffect(() => {
    const name = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1)}…` : title;
    document.title = visibleText(`${name} – Workspace gateway`);
  }, [title]);
  return (
    <section>
      <div class="page-head">
        <div>
          <h1 id="page-title" tabindex={-1} dir="auto">
            {title}
          </h1>
          {intro && <Intro text={intro} />}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

const MAX_INTRO = 300;

/** The beginning of a long text, with the whole on demand. */
function Intro({ text }: { readonly text: string }) {
  if (text.length <= MAX_INTRO) return <p class="soft">{text}</p>;
  return (
    <details class="soft">
      <summary>{text.slice(0, MAX_INTRO)}…</summary>
      <p>{text}</p>
    </details>
  );
}

/** The empty state of a page, with the command for the next step. */
export const Empty = ({ children, command }: { readonly children: Content; readonly command?: string }) => (
  <div class="empty">
    <p>{children}</p>
    {command && <pre tabindex={0}>{command}</pre>}
  </div>
);

interface MissingProps {
  readonly title: string;
  readonly query: Pick<Loaded<unknown>, 'faults' | 'isLoading' | 'paused'>;
  /** What is shown if the query has found nothing. */
  readonly children: Content;
}

/** The page of an object that is not there, or not yet. */
export const Missing = ({ title, query: { faults, isLoading, paused }, children }: MissingProps) => (
  <PageFrame title={title}>
    <Faults faults={faults} />
    {isLoading ? <Loading paused={paused} /> : faults.length === 0 && <Empty>{children}</Empty>}
  </PageFrame>
);

/** What is shown while a query runs, and why it waits if it does. */
export const Loading = ({ paused }: { readonly paused?: Paused | undefined }) =>
  paused ? (
    <Waiting paused={paused} />
  ) : (
    <p class="soft" role="status">
      Loading…
    </p>
  );

const PAUSE_WORDS: Readonly<Record<Paused['reason'], string>> = {
  limited: 'Too many requests in this minute.',
  unavailable: 'The gateway is not ready.',
  unreachable: 'The gateway cannot be reached.',
};

/** Why a query waits, and when it continues. */
export function Waiting({ paused: { reason, until, retry } }: { readonly paused: Paused }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  return (
    <div class="notice waiting">
      <p>
        <span role="status">{PAUSE_WORDS[reason]}</span> Loading continues {seconds > 0 ? `in ${seconds} s` : 'now'}.
      </p>
      <Button onClick={retry}>Try now</Button>
    </div>
  );
}

export type Fact = readonly [name: string, value: Content];

/** A list of facts with their names; absent ones are omitted. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(
      ([name, value]) =>
        value !== null &&
        value !== undefined &&
        value !== '' && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

/** Counts with their names; absent ones are omitted. */
export const Counts = ({
  counts,
}: {
  readonly counts: readonly (readonly [name: string, count: number | string | undefined])[];
}) => (
  <dl class="counts">
    {counts.map(
      ([name, count]) =>
        count !== undefined && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{Number(count).toLocaleString()}</dd>
          </div>
        ),
    )}
  </dl>
);

/** A column by which the list can be ordered. A name alone is one by which it cannot. */
export interface Column {
  readonly name: string;
  /** Orders by it. */
  readonly sort?: () => void;
  readonly order?: 'ascending' | 'descending' | undefined;
}

type Head = readonly (string | Column)[];

const columnsOf = (head: Head): readonly Column[] =>
  head.map((column) => (typeof column === 'string' ? { name: column } : column));

interface TableProps<Row> {
  readonly label: string;
  readonly head: Head;
  readonly rows: readonly Row[];
  readonly row: (row: Row) => VNode;
  readonly isBusy?: boolean;
}

/**
 * A table that scrolls horizontally, also by keyboard. On a phone each row is a card whose cells show their column name. The roles are
 * explicit, because a layout other than that of a table removes them.
 */
export function Table<Row>({ label, head, rows, row, isBusy = false }: TableProps<Row>) {
  const columns = columnsOf(head);
  const drawn = rows.map((each) => withRoles(row(each), columns));
  const classes = drawn[0] ? cellsOf(drawn[0]).map(({ props }) => props.class) : [];
  return (
    <div class="table-frame" role="region" aria-label={label} tabindex={0}>
      <table role="table" aria-label={label} aria-busy={isBusy}>
        <thead role="rowgroup">
          <tr role="row">{columns.map((column, index) => headOf(column, classes[index]))}</tr>
        </thead>
        <tbody role="rowgroup">{drawn}</tbody>
      </table>
    </div>
  );
}

/** The head of numbers is aligned like them. */
function headOf({ name, sort, order }: Column, cellClass: unknown) {
  if (name === '') return <td role="cell"></td>;
  return (
    <th
      role="columnheader"
      scope="col"
      data-column={name}
      class={cellClass === 'number' ? 'number' : undefined}
      aria-sort={order}
    >
      {sort ? (
        <button class="sort" onClick={sort}>
          {name}
        </button>
      ) : (
        name
      )}
    </th>
  );
}

const cellsOf = (row: VNode) =>
  toChildArray(row.props.children).filter((child): child is VNode<{ readonly class?: string }> =>
    isValidElement(child),
  );

function withRoles(row: VNode, columns: readonly Column[]) {
  const named = cellsOf(row).map((cell, index) =>
    cloneElement(cell, { role: 'cell', 'data-column': columns[index]?.name }),
  );
  return cloneElement(row, { role: 'row' }, named);
}

interface ListProps<Row> {
  readonly list: Pages<Row>;
  readonly head: Head;
  readonly row: (row: Row) => VNode;
  /** What is shown instead of no rows: a text, or an element with more. */
  readonly empty?: Content;
  readonly label: string;
  /** Whether each row is one line; what does not fit is cut. */
  readonly isDense?: boolean;
}

/** The table of a list, with its errors, its empty state and a button for the next page. */
export function List<Row>({ list, head, row, empty, label, isDense = false }: ListProps<Row>) {
  const { rows, faults, isLoading, paused, hasMore, loadMore, total, changed } = list;
  const nothing = typeof empty === 'string' ? <Empty>{empty}</Empty> : empty;
  const table = <Table label={label} head={head} rows={rows} row={row} isBusy={isLoading} />;
  return (
    <div class={isDense ? 'dense' : undefined}>
      <Faults faults={faults} />
      {changed > 0 && (
        <p class="notice row" role="status">
          {changed === 1 ? 'One object has' : `${changed} objects have`} changed.{' '}
          <Button onClick={() => list.reload()}>Show</Button>
        </p>
      )}
      {rows.length > 0 && total !== undefined && (
        <p class="soft count">
          1–{rows.length.toLocaleString()} of {Math.max(total, rows.length).toLocaleString()}
        </p>
      )}
      {rows.length > 0 ? table : isLoading ? <Loading paused={paused} /> : faults.length === 0 && nothing}
      {rows.length > 0 && paused && <Waiting paused={paused} />}
      {hasMore && <LoadMore label="Load more" load={loadMore} />}
    </div>
  );
}

interface ActionProps {
  readonly label: string;
  /** The confirmation question for an irreversible action. */
  readonly confirm?: string;
  readonly isPlain?: boolean;
  /** Returns the error, if any. */
  readonly run: () => Promise<string | undefined>;
}

/** A button with one action, which shows its error. */
export function Action({ label, confirm, isPlain = true, run }: ActionProps) {
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [fault, setFault] = useState<string>();
  const button = useRef<HTMLButtonElement>(null);
  useKeptFocus(button);
  const act = async () => {
    setBusy(true);
    setFault(await run());
    setBusy(false);
  };
  const answered = (isConfirmed: boolean) => {
    setAsking(false);
    if (isConfirmed) void act();
  };
  // A disabled button would lose the focus.
  const press = () => {
    if (isBusy) return;
    if (confirm === undefined) void act();
    else setAsking(true);
  };
  return (
    <span class="action">
      <button ref={button} class={`button small ${isPlain ? 'plain' : ''}`} aria-disabled={isBusy} onClick={press}>
        {label}
      </button>
      {isAsking && confirm !== undefined && <ConfirmDialog question={confirm} label={label} onAnswer={answered} />}
      <FaultText text={fault} />
    </span>
  );
}

/** A secret that is shown once. */
export const Secret = ({ label, value }: { readonly label: string; readonly value: string }) => (
  <div class="secret" role="status">
    <p>{label} It is shown once: keep it now.</p>
    <div class="row">
      <code tabindex={0}>{value}</code>
      <CopyButton text={value} />
    </div>
  </div>
);
