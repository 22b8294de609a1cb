import { type RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Fault, type Paused, query, run } from './api.ts';
import type { OperationName } from './operations.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';

export interface Loaded<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  /** Set while the query waits because the gateway cannot answer it at present. It continues by itself. */
  readonly paused: Paused | undefined;
  readonly reload: () => void;
}

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
  const [round, setRound] = useState(0);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    const onPause = (paused?: Paused) => signal.aborted || setState((before) => ({ ...before, paused }));
    setState((before) => ({ ...before, isLoading: true }));
    void query(name, JSON.parse(key) as Variables[Name], { signal, onPause }).then(({ data, faults }) => {
      if (!signal.aborted) setState({ of: key, data, faults, isLoading: false, paused: undefined });
    });
    return () => left.abort();
  }, [name, key, round]);
  // Other variables are loaded from the first frame that has them on.
  const isLoading = state.isLoading || of !== key;
  return { ...state, isLoading, reload: useCallback(() => setRound((count) => count + 1), []) };
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly paused: Paused | undefined;
  readonly hasMore: boolean;
  /** Does nothing while a page is loaded. */
  readonly loadMore: () => Promise<void>;
  readonly reload: () => void;
  /** Changes the loaded rows without a new request. */
  readonly update: (change: Change<Row>) => void;
}

type Change<Row> = (rows: readonly Row[]) => readonly Row[];

export interface Page<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

interface PagesState<Row> {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly paused: Paused | undefined;
  readonly end: string | null;
  readonly hasMore: boolean;
}

/** Loads a list page by page. `pageOf` finds the page in an answer; undefined if it was refused. */
export function usePages<Name extends OperationName, Row>(
  name: Name,
  variables: Omit<Variables[Name], 'after'>,
  pageOf: (data: Answers[Name]) => Page<Row> | null | undefined,
): Pages<Row> {
  const [state, setState] = useState<PagesState<Row>>({
    rows: [],
    faults: [],
    isLoading: true,
    paused: undefined,
    end: null,
    hasMore: false,
  });
  const [round, setRound] = useState(0);
  /** Changes since the list was requested, whose answer may be older. Undefined once it is loaded. */
  const changes = useRef<Change<Row>[] | undefined>(undefined);
  const key = JSON.stringify(variables);
  const left = useRef(new AbortController());
  const load = async (after: string | null) => {
    const { signal } = left.current;
    if (after === null) changes.current = [];
    setState((before) => ({ ...before, isLoading: true }));
    const asked = { ...(JSON.parse(key) as object), after } as unknown as Variables[Name];
    const onPause = (paused?: Paused) => signal.aborted || setState((before) => ({ ...before, paused }));
    const { data, faults } = await query(name, asked, { signal, onPause });
    if (signal.aborted) return;
    const page = data && pageOf(data);
    const nodes = page?.nodes ?? [];
    const missed = changes.current ?? [];
    if (after === null) changes.current = undefined;
    setState((before) => ({
      rows: after === null ? missed.reduce((rows, change) => change(rows), nodes) : [...before.rows, ...nodes],
      faults,
      isLoading: false,
      paused: undefined,
      end: page?.pageInfo.endCursor ?? null,
      hasMore: page?.pageInfo.hasNextPage ?? false,
    }));
  };
  useEffect(() => {
    left.current = new AbortController();
    void load(null);
    return () => left.current.abort();
  }, [name, key, round]);
  return {
    ...state,
    loadMore: async () => {
      if (!state.isLoading) await load(state.end);
    },
    reload: useCallback(() => setRound((count) => count + 1), []),
    update: useCallback((change) => {
      changes.current?.push(change);
      setState((before) => ({ ...before, rows: change(before.rows) }));
    }, []),
  };
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
