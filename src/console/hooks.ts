import { useCallback, useEffect, useState } from 'preact/hooks';
import { type Fault, run } from './api.ts';
import type { OperationName } from './operations.ts';
import type { Answers, Variables } from './operation-types.ts';

export interface Loaded<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** A query, sent again when its variables change or it is reloaded. The last answer stays while the next one is on its way. */
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
}

export interface Page<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** A list that is read page by page. `pageOf` finds the page in an answer; undefined where it was refused. */
export function usePages<Name extends OperationName, Row>(
  name: Name,
  variables: Omit<Variables[Name], 'after'>,
  pageOf: (data: Answers[Name]) => Page<Row> | null | undefined,
): Pages<Row> {
  const [pages, setPages] = useState<readonly Page<Row>[]>([]);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [isLoading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const key = JSON.stringify(variables);
  const load = async (after: string | null) => {
    const asked = { ...(JSON.parse(key) as object), after } as unknown as Variables[Name];
    const { data, faults: found } = await run(name, asked);
    return { page: data && pageOf(data), found };
  };
  useEffect(() => {
    let isCurrent = true;
    setLoading(true);
    void load(null).then(({ page, found }) => {
      if (!isCurrent) return;
      setPages(page ? [page] : []);
      setFaults(found);
      setLoading(false);
    });
    return () => {
      isCurrent = false;
    };
  }, [name, key, round]);
  const last = pages.at(-1)?.pageInfo;
  return {
    rows: pages.flatMap(({ nodes }) => nodes),
    faults,
    isLoading,
    hasMore: last?.hasNextPage ?? false,
    loadMore: () => {
      setLoading(true);
      void load(last?.endCursor ?? null).then(({ page, found }) => {
        if (page) setPages((before) => [...before, page]);
        setFaults(found);
        setLoading(false);
      });
    },
    reload: useCallback(() => setRound((count) => count + 1), []),
  };
}

/** What a mutation's result says went wrong; undefined when it succeeded. */
export function refusalOf(result: object | null | undefined, faults: readonly Fault[]): string | undefined {
  if (faults.length > 0) return faults.map(({ message }) => message).join('; ');
  if (result && 'message' in result) return String(result.message);
  return result ? undefined : 'The gateway did not answer.';
}
