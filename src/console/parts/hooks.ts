import { type RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Fault, type Paused, query, run } from './api.ts';
import type { OperationName } from './operations.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { remember, remembered } from './visits.ts';

export interface Loaded<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  /** Set while the query waits because the gateway cannot answer it at present. It continues by itself. */
  readonly paused: Paused | undefined;
  readonly reload: Reload;
}

/** Reads again, `quiet` without a sign that something is loaded. */
export type Reload = (how?: 'quiet') => void;

/** Runs a query, again when its variables change or it is reloaded. The last answer stays until the next one arrives. */
export function useQuery<Name extends OperationName>(name: Name, variables: Variables[Name]): Loaded<Answers[Name]> {
  const key = JSON.stringify(variables);
  const [{ of, ...state }, setState] = useState({
    of: key,
    data: null as Answers[Name] | null,
    faults: [] as readonly Fault[],
    isLoading: true,
    paused: undefined as Paused | undefined,
  });
  const [{ round, isQuiet }, setRound] = useState({ round: 0, isQuiet: false });
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    const onPause = (paused?: Paused) => signal.aborted || setState((before) => ({ ...before, paused }));
    setState((before) => ({ ...before, isLoading: true }));
    // Somebody waits for other variables, and for what is not there yet.
    const options = { signal, onPause, isQuiet: isQuiet && of === key && !state.isLoading };
    void query(name, JSON.parse(key) as Variables[Name], options).then(({ data, faults }) => {
      if (signal.aborted) return;
      setState({ of: key, data, faults, isLoading: false, paused: undefined });
    });
    return () => left.abort();
  }, [name, key, round]);
  // Other variables are loaded from the first frame that has them on.
  const isLoading = state.isLoading || of !== key;
  const reload = useCallback<Reload>(
    (how) => setRound((at) => ({ round: at.round + 1, isQuiet: how === 'quiet' })),
    [],
  );
  return { ...state, isLoading, reload };
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly paused: Paused | undefined;
  readonly hasMore: boolean;
  /** How many objects the list has in all, if the query asks for it. */
  readonly total: number | undefined;
  /** How many objects have changed while the rows stayed, with {@link PagesOptions.follows}. */
  readonly changed: number;
  /** Whether changes are counted and not shown. */
  readonly stays: boolean;
  /** While the list is read, the page follows it. */
  readonly loadMore: () => Promise<void>;
  /** Reads as many rows as are loaded, and shows them. */
  readonly reload: Reload;
  /** Likewise after changes were missed: rows that stay are only compared. */
  readonly catchUp: () => void;
  /** Changes the loaded rows without a new request. */
  readonly update: (change: Change<Row>) => void;
}

type Change<Row> = (rows: readonly Row[]) => readonly Row[];

export interface Page<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly totalCount?: number;
}

interface PagesOptions {
  /** Whether changes of the objects arrive. The rows of a page to which the reader came back stay, until the list is loaded again. */
  readonly follows?: boolean;
  /** Whether the rows stay now, because they are chosen or have an order of their own. */
  readonly stays?: boolean;
}

interface LoadedRows<Row> {
  readonly rows: readonly Row[];
  readonly end: string | null;
  readonly hasMore: boolean;
  readonly total: number | undefined;
}

interface PagesState<Row> extends LoadedRows<Row> {
  /** The variables that they belong to. */
  readonly of: string;
  readonly isRestored: boolean;
  readonly changed: ReadonlySet<string>;
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly paused: Paused | undefined;
}

/** The bound of the API for a page. */
const MAX_PAGE = 100;

const loadedOf = <Row>({ rows, end, hasMore, total }: LoadedRows<Row>): LoadedRows<Row> => ({
  rows,
  end,
  hasMore,
  total,
});

/** The rows that this page had when it was left, or none. */
function beginningOf<Row>(name: string, key: string): PagesState<Row> {
  const before = remembered<LoadedRows<Row>>(name + key);
  const loaded = before ?? { rows: [], end: null, hasMore: false, total: undefined };
  return { ...loaded, of: key, isRestored: !!before, changed: NONE, faults: [], isLoading: true, paused: undefined };
}

const again =
  (shows: boolean, how?: 'quiet') =>
  ({ round }: { readonly round: number }) => ({ round: round + 1, shows, isQuiet: how === 'quiet' });

const rereading = <Row>({ of, rows, isLoading }: PagesState<Row>, key: string, isQuiet: boolean) =>
  of === key ? { count: rows.length, quiet: isQuiet && !isLoading } : {};

/** The rows stay, and what would have changed is counted. */
const counting = <Row>(before: PagesState<Row>, change: Change<Row>): PagesState<Row> => ({
  ...before,
  changed: new Set([...before.changed, ...differences(before.rows, change(before.rows))]),
});

/** The rows that are shown stay where others must not take their place, and what would have changed is counted. */
function replaced<Row>(
  before: PagesState<Row>,
  after: Omit<PagesState<Row>, 'isRestored'>,
  isShown: boolean,
): PagesState<Row> {
  const changed = isShown ? NONE : differences(before.rows, after.rows);
  if (changed.size > 0) return { ...before, isLoading: false, paused: undefined, changed };
  return { ...after, isRestored: before.isRestored && !isShown };
}

/** Loads a list page by page. `pageOf` finds the page in an answer; undefined if it was refused. */
export function usePages<Name extends OperationName, Row>(
  name: Name,
  variables: Omit<Variables[Name], 'after'>,
  pageOf: (data: Answers[Name]) => Page<Row> | null | undefined,
  { follows = false, stays = false }: PagesOptions = {},
): Pages<Row> {
  const key = JSON.stringify(variables);
  const [state, setState] = useState(() => beginningOf<Row>(name, key));
  const [{ round, shows, isQuiet }, setRound] = useState({ round: 0, shows: !state.isRestored, isQuiet: false });
  /** Changes since the list was requested, whose answer may be older. Undefined once it is loaded. */
  const changes = useRef<Change<Row>[] | undefined>(undefined);
  const left = useRef(new AbortController());
  /** The variables of the list of which another page is wanted once it is read: a reader asked while it was, or the page was not read to its end. */
  const wanted = useRef<string | undefined>(undefined);
  /** Whether something is read now. The state tells as of the last render, whose button may be pressed before its effects have run. */
  const isReading = useRef(false);
  const held = useRef(stays);
  held.current = stays;
  const isHeld = (before: PagesState<Row>) => follows && (held.current || before.isRestored);
  const load = async (after: string | null, { count = 0, shown = true, quiet = false } = {}) => {
    const { signal } = left.current;
    if (after === null) changes.current = [];
    else wanted.current = key;
    isReading.current = true;
    setState((before) => ({ ...before, isLoading: true }));
    const onPause = (paused?: Paused) => signal.aborted || setState((before) => ({ ...before, paused }));
    const list = { name, variables: JSON.parse(key) as Variables[Name], pageOf };
    const { nodes, ...answer } = await readPages(list, { after, count, signal, onPause, isQuiet: quiet });
    if (signal.aborted) return;
    isReading.current = false;
    const rows = (changes.current ?? []).reduce<readonly Row[]>((some, change) => change(some), nodes);
    (after === null ? changes : wanted).current = undefined;
    setState((before) => {
      if (after !== null) return { ...before, ...answer, rows: [...before.rows, ...othersOf(before.rows, rows)] };
      const isShown = shown || before.of !== key || !isHeld(before) || answer.faults.length > 0;
      return replaced(before, { ...answer, rows, of: key, changed: NONE }, isShown);
    });
  };
  useEffect(() => {
    left.current = new AbortController();
    void load(null, { ...rereading(state, key, isQuiet), shown: shows });
    return () => left.current.abort();
  }, [name, key, round]);
  useEffect(() => {
    if (isReading.current || state.of !== key) return;
    remember(name + key, loadedOf(state));
    const isWanted = wanted.current === key && state.hasMore;
    wanted.current = undefined;
    if (isWanted) void load(state.end);
  }, [state]);
  return {
    ...state,
    changed: state.changed.size,
    stays: isHeld(state),
    loadMore: async () => void (isReading.current ? (wanted.current = key) : await load(state.end)),
    reload: useCallback<Reload>((how) => setRound(again(true, how)), []),
    catchUp: useCallback(() => setRound(again(false, 'quiet')), []),
    update: useCallback((change) => {
      changes.current?.push(change);
      setState((before) => (isHeld(before) ? counting(before, change) : { ...before, rows: change(before.rows) }));
    }, []),
  };
}

interface Listed<Name extends OperationName, Row> {
  readonly name: Name;
  readonly variables: Variables[Name];
  readonly pageOf: (data: Answers[Name]) => Page<Row> | null | undefined;
}

interface Reading {
  readonly after: string | null;
  /** How many rows are read at least, as far as there are so many. */
  readonly count: number;
  readonly signal: AbortSignal;
  readonly onPause: (paused?: Paused) => void;
  readonly isQuiet: boolean;
}

/** Reads pages after a cursor: one, or as many as the rows take. */
async function readPages<Name extends OperationName, Row>(list: Listed<Name, Row>, { count, ...rest }: Reading) {
  const { name, variables, pageOf } = list;
  const { first: size } = variables as { readonly first?: number };
  const pages: (readonly Row[])[] = [];
  for (let after = rest.after; ;) {
    const first = size && Math.min(MAX_PAGE, Math.max(size, count - pages.flat().length));
    const { data, faults } = await query(name, { ...variables, ...(first && { first }), after }, rest);
    const page = data && pageOf(data);
    pages.push(page?.nodes ?? []);
    const nodes: readonly Row[] = pages.flat();
    const { hasNextPage: hasMore = false, endCursor: end = null } = page?.pageInfo ?? {};
    if (!hasMore || nodes.length >= count || rest.signal.aborted)
      return { nodes, end, hasMore, total: page?.totalCount, faults, isLoading: false, paused: undefined };
    after = end;
  }
}

const idOf = (row: unknown) => (row as { readonly id?: unknown }).id;

/** The rows of a page but those that are listed already, such as one that has moved while the page was read. */
export function othersOf<Row>(rows: readonly Row[], page: readonly Row[]): readonly Row[] {
  const ids = new Set(rows.map(idOf));
  return page.filter((row) => idOf(row) === undefined || !ids.has(idOf(row)));
}

const NONE: ReadonlySet<string> = new Set();

/** The ids of the rows that are new, gone or other than before. */
function differences<Row>(before: readonly Row[], after: readonly Row[]): ReadonlySet<string> {
  const texts = (rows: readonly Row[]) =>
    new Map(rows.map((row): [string, string] => [String(idOf(row)), JSON.stringify(row)]));
  const [old, fresh] = [texts(before), texts(after)];
  return new Set([...old.keys(), ...fresh.keys()].filter((id) => old.get(id) !== fresh.get(id)));
}

/** Loads a list page by page to its end. */
export function useAllPages<Name extends OperationName, Row>(
  ...list: Parameters<typeof usePages<Name, Row>>
): Pages<Row> {
  const pages = usePages(...list);
  const { rows, hasMore, isLoading, loadMore } = pages;
  useEffect(() => {
    if (hasMore && !isLoading) void loadMore();
  }, [rows.length, hasMore, isLoading]);
  return pages;
}

/** Reads again and again while the tab is visible and no dialog is open, so that a page without a subscription follows. */
export function useFollowing(reload: Reload, isLoading: boolean, ms = 5000): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (isLoading) return undefined;
    const tick = () => document.hidden || document.querySelector('dialog[open]') || latest.current('quiet');
    const timer = setInterval(tick, ms);
    return () => clearInterval(timer);
  }, [isLoading, ms]);
}

/** The error of a mutation result; undefined if it succeeded. */
export function refusalOf(result: object | null | undefined, faults: readonly Fault[]): string | undefined {
  if (faults.length > 0) return faults.map(({ message }) => message).join('; ');
  if (result && 'message' in result) return String(result.message);
  return result ? undefined : 'The gateway did not answer.';
}

/** Runs an operation with one mutation, and then `onDone`, whatever came of it. @returns the error, if any */
export async function mutate<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  onDone: () => void,
): Promise<string | undefined> {
  const { data, faults } = await run(name, variables);
  onDone();
  return refusalOf(Object.values<object | null>(data ?? {})[0], faults);
}

/** Focuses the title of a page that replaces the one whose title had the focus, such as that of a page that was being loaded. */
export function useTitleFocus(): void {
  useLayoutEffect(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('#page-title')?.focus({ preventScroll: true });
  }, []);
}

/** Moves the focus to the title of the page when the element that has it is removed, such as a button of a deleted row. */
export function useKeptFocus(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(
    () => () => {
      if (element.current && element.current === document.activeElement)
        document.querySelector<HTMLElement>('#page-title')?.focus({ preventScroll: true });
    },
    [],
  );
}
