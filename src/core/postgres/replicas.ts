import { DomainError } from '../errors.ts';
import { databaseTrouble } from './failures.ts';
import type { Statement } from './queries.ts';
import { type Replica, type ReplicaOptions, createReplica } from './replica.ts';
import type { RequestBudget } from './request-budget.ts';
import type { Run } from './sql.ts';

/**
 * Read replicas of the primary. A request that only reads is served by one that has replayed all that was acknowledged before the request
 * came in, so that a writer, and everybody else, reads what was written, whichever process wrote it. Where none has, the primary serves it.
 * While the primary is away, a replica that was current, and has replayed all that it has received, serves what only reads.
 */
export interface Replicas {
  /**
   * Statements of one request, all on one server. `position` is where the primary's log ended after the request had come in; null when the
   * primary was away then.
   */
  reader(position: number | null | undefined): Run;
  /** Runs a statement that reads {@link POSITION}: on the primary, or while that is away on the most current replica. */
  readonly lookup: Run;
  /** Whether reads can be served while the primary is away. */
  canServeReads(): Promise<boolean>;
  states(): { readonly replica: string; readonly isUsable: boolean }[];
  close(): Promise<void>;
}

export interface ReplicasOptions extends ReplicaOptions {
  /** Of every server that may be a standby; the primary may be among them. */
  readonly urls: readonly string[];
  readonly primary: Run;
}

/**
 * Where the primary's log ends, as a number of bytes, for the select list of a statement; null on a standby. Whatever was acknowledged is
 * behind it: flushed, or where commits are acknowledged before that, written.
 */
export const POSITION = `case when not pg_is_in_recovery() then ((case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end) - '0/0')::float8 end`;

const LOOK_EVERY_MS = 500;

/** Dials nothing before the first reader or lookup. */
export function createReplicas({ urls, primary, ...options }: ReplicasOptions): Replicas {
  const replicas = urls.map((url) => createReplica(url, options));
  let turn = 0;
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;

  /** Compares all with the primary, or only asks them where that is away. */
  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const position = await primary({ text: `select ${POSITION} as position`, values: [] }).then(
      ([row]) => (row as { position: number | null }).position ?? undefined,
      () => undefined,
    );
    await Promise.all(replicas.map((replica) => replica.probe(position)));
    isLooking = false;
  }

  function watch(): void {
    if (timer) return;
    timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
    void look();
  }

  /** One that is there already, else the next in turn, if it gets there. */
  async function choose(position: number): Promise<Replica | undefined> {
    const usable = replicas.filter((replica) => replica.isUsable());
    turn += 1;
    const inTurn = usable.map((_, index) => usable[(turn + index) % usable.length]);
    const chosen =
      inTurn.find((replica) => replica && replica.replayed() >= position) ??
      inTurn.find((replica) => replica?.isStreaming());
    return (await chosen?.reach(position)) ? chosen : undefined;
  }

  /** The one that has most of what the lost primary has written. */
  async function mostCurrent(): Promise<Replica | undefined> {
    const drained = await Promise.all(replicas.map((replica) => replica.isDrained()));
    return replicas.filter((_, index) => drained[index]).toSorted((one, other) => other.replayed() - one.replayed())[0];
  }

  async function lookup(statement: Statement<unknown>, budget?: RequestBudget): Promise<object[]> {
    watch();
    try {
      return await primary(statement, budget);
    } catch (error) {
      const replica = databaseTrouble(error) === 'away' ? await mostCurrent() : undefined;
      if (!replica) throw error;
      return replica.run(statement, budget);
    }
  }

  return {
    reader(position) {
      if (position === undefined) return primary;
      watch();
      let chosen: Promise<Replica | undefined> | undefined;
      return async (statement, budget) => {
        const replica = await (chosen ??= position === null ? mostCurrent() : choose(position));
        if (!replica) return primary(statement, budget);
        try {
          return await replica.run(statement, budget);
        } catch (error) {
          if (isCancelled(error) || error instanceof DomainError) throw error;
          // Lost, in conflict with its recovery, or a statement that is none for replicas: the primary can, or says what is wrong.
          chosen = Promise.resolve(undefined);
          return primary(statement, budget);
        }
      };
    },
    lookup,
    canServeReads: async () => (await mostCurrent()) !== undefined,
    states: () => replicas.map((replica) => ({ replica: replica.name, isUsable: replica.isUsable() })),
    async close() {
      clearInterval(timer);
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}

/** PostgreSQL's query_canceled: it has taken too long, and would take as long on the primary. */
function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
