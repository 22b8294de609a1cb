import { DomainError } from '../errors.ts';
import { databaseTrouble } from './failures.ts';
import { type Replica, type ReplicaOptions, createReplica } from './replica.ts';
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

export function createReplicas(options: ReplicasOptions): Replicas {
  return new WatchedReplicas(options);
}

/** Dials nothing before the first reader or lookup. */
class WatchedReplicas implements Replicas {
  readonly #primary: Run;
  readonly #replicas: readonly Replica[];
  /** Rotates the order in which replicas are chosen. */
  #rotation = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor({ urls, primary, ...options }: ReplicasOptions) {
    this.#primary = primary;
    this.#replicas = urls.map((url) => createReplica(url, options));
  }

  reader(position: number | null | undefined): Run {
    const primary = this.#primary;
    if (position === undefined) return primary;
    this.#watch();
    let chosen: Promise<Replica | undefined> | undefined;
    return async (statement, budget) => {
      const replica = await (chosen ??= position === null ? this.#mostCurrent() : this.#choose(position));
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
  }

  readonly lookup: Run = async (statement, budget) => {
    this.#watch();
    try {
      return await this.#primary(statement, budget);
    } catch (error) {
      const replica = databaseTrouble(error) === 'away' ? await this.#mostCurrent() : undefined;
      if (!replica) throw error;
      return replica.run(statement, budget).catch((failure: unknown) => {
        if (isCancelled(failure) || failure instanceof DomainError) throw failure;
        // Lost as well, or in conflict with its recovery: what counts is that the primary is away.
        throw error;
      });
    }
  };

  async canServeReads(): Promise<boolean> {
    return (await this.#mostCurrent()) !== undefined;
  }

  states(): { readonly replica: string; readonly isUsable: boolean }[] {
    return this.#replicas.map((replica) => ({ replica: replica.name, isUsable: replica.isUsable() }));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#replicas.map((replica) => replica.close()));
  }

  #watch(): void {
    if (this.#timer) return;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
    void this.#look();
  }

  /** Compares all with the primary, or only asks them where that is away. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const position = await this.#primary({ text: `select ${POSITION} as position`, values: [] }).then(
      ([row]) => (row as { position: number | null }).position ?? undefined,
      () => undefined,
    );
    await Promise.all(this.#replicas.map((replica) => replica.probe(position)));
    this.#isLooking = false;
  }

  /** One that is there already, else the next in rotation, if it gets there. */
  async #choose(position: number): Promise<Replica | undefined> {
    const usable = this.#replicas.filter((replica) => replica.isUsable());
    this.#rotation += 1;
    const rotated = usable.map((_, index) => usable[(this.#rotation + index) % usable.length]);
    const chosen =
      rotated.find((replica) => replica && replica.replayed() >= position) ??
      rotated.find((replica) => replica?.isStreaming());
    return (await chosen?.reach(position)) ? chosen : undefined;
  }

  /** The one that has most of what the lost primary has written. */
  async #mostCurrent(): Promise<Replica | undefined> {
    const drained = await Promise.all(this.#replicas.map((replica) => replica.isDrained()));
    const candidates = this.#replicas.filter((_, index) => drained[index]);
    return candidates.toSorted((one, other) => other.replayed() - one.replayed())[0];
  }
}

/** PostgreSQL's query_canceled: it has taken too long, and would take as long on the primary. */
function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
