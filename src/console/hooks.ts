import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Fault, run } from './api.ts';
import type { OperationName } from './operations.ts';
import type { Answers, Variables } from './operation-types.ts';

export interface Loaded<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Runs a query, again when its variables change or it is reloaded. The last answer stays until the next one arrives. */
export function useQuery<Name extends OperationName>(name: Name, variables: Variables[Name]): Loaded<Answers[Name]> {
  const [state, setState] = useState<Omit<Loaded<Answers[Name]>, 'reload'>>({
    data: null,
    faults: [],
    isLoading: true,
  });
  const [round, setRound] = useState(0);
  const key = JSON.stringify(variables);
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, isLoading: true }));
    void run(name, JSON.parse(key) as Variables[Name]).then((answer) => {
      if (isCurrent) setState({ ...answer, isLoading: false });
    });
    return () => {
      isCurrent = false;
    };
  }, [name, key, round]);
  return { ...state, reload: useCallback(() => setRound((count) => count + 1), []) };
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
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
    end: null,
    hasMore: false,
  });
  const [round, setRound] = useState(0);
  /** Changes since the list was requested, whose answer may be older. Undefined once it is loaded. */
  const changes = useRef<Change<Row>[] | undefined>(undefined);
  const key = JSON.stringify(variables);
  const load = async (after: string | null, isCurrent: () => boolean) => {
    if (after === null) changes.current = [];
    setState((before) => ({ ...before, isLoading: true }));
    const asked = { ...(JSON.parse(key) as object), after } as unknown as Variables[Name];
    const { data, faults } = await run(name, asked);
    if (!isCurrent()) return;
    const page = data && pageOf(data);
    const nodes = page?.nodes ?? [];
    const missed = changes.current ?? [];
    if (after === null) changes.current = undefined;
    setState((before) => ({
      rows: after === null ? missed.reduce((rows, change) => change(rows), nodes) : [...before.rows, ...nodes],
      faults,
      isLoading: false,
      end: page?.pageInfo.endCursor ?? null,
      hasMore: page?.pageInfo.hasNextPage ?? false,
    }));
  };
  useEffect(() => {
    let isCurrent = true;
    void load(null, () => isCurrent);
    return () => {
      isCurrent = false;
    };
  }, [name, key, round]);
  return {
    ...state,
    loadMore: () => void load(state.end, () => true),
    reload: useCallback(() => setRound((count) => count + 1), []),
    update: useCallback((change) => {
      changes.current?.push(change);
      setState((before) => ({ ...before, rows: change(before.rows) }));
    }, []),
  };
}

/** The error of a mutation result; undefined if it succeeded. */
export function refusalOf(result: object | null | undefined, faults: readonly Fault[]): string | undefined {
  if (faults.length > 0) return faults.map(({ message }) => message).join('; ');
  if (result && 'message' in result) return String(result.message);
  return result ? undefined : 'The gateway did not answer.';
}
