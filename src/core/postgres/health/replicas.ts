import { DomainError } from '../../errors.ts';
import { databaseTrouble } from '../failures.ts';
import { type Replica, type ReplicaOptions, createReplica } from './replica.ts';
import type { Run } from '../reading/sql.ts';

/**
 * Read replicas of the primary. A request that only reads uses a replica that has replayed everything acknowledged
 * before the request, so every client reads all earlier writes of all processes. If there is none, the primary serves
 * it. While the primary is away, a replica that was current and has replayed everything that it received serves reads.
 */
export interface Replicas {
  /**
   * Runs all statements of one request on one server. `position` is the position of the primary's log after the request
   * arrived; null if the primary was away.
   */
  reader(position: number | null | undefined): Run;
  /** Runs a statement that selects {@link POSITION}: on the primary or, while that is away, on the most current replica. */
  readonly lookup: Run;
  /** Whether reads can be served while the primary is away. */
  canServeReads(): Promise<boolean>;
  states(): { readonly replica: string; readonly isUsable: boolean }[];
  close(): Promise<void>;
}

export interface ReplicasOptions extends ReplicaOptions {
  /** The URLs of all servers that may be standbys; they may include the primary. */
  readonly urls: readonly string[];
  readonly primary: Run;
}

/**
 * The position of the primary's log in bytes, for the select list of a statement; null on a standby. Everything acknowledged is before it:
 * flushed or, if commits are acknowledged earlier, written.
 */
export const POSITION = `case when not pg_is_in_recovery() then ((case current_setting('synchronous_commit') when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end) - '0/0')::float8 end`;

const LOOK_EVERY_MS = 500;

export const createReplicas = (options: ReplicasOptions): Replicas => new WatchedReplicas(options);

/** Connects only with the first reader or lookup. */
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
        // The replica is lost, the statement conflicts with recovery, or it is not allowed on replicas: run it on the primary.
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
        // The replica is lost, too, or in conflict with recovery: the relevant error is that the primary is away.
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

  /** Compares all replicas with the primary, or only checks them while that is away. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const position = await this.#primary({ text: `select ${POSITION} as position`, values: [] }).then(
      ([row]) => (row && 'position' in row && typeof row.position === 'number' ? row.position : undefined),
      () => undefined,
    );
    await Promise.all(this.#replicas.map((replica) => replica.probe(position)));
    this.#isLooking = false;
  }

  /** A replica that has reached the position, otherwise the next one in rotation if it reaches it in time. */
  async #choose(position: number): Promise<Replica | undefined> {
    const usable = this.#replicas.filter((replica) => replica.isUsable());
    this.#rotation += 1;
    const rotated = usable.map((_, index) => usable[(this.#rotation + index) % usable.length]);
    const chosen =
      rotated.find((replica) => replica && replica.replayed() >= position) ??
      rotated.find((replica) => replica?.isStreaming());
    return (await chosen?.reach(position)) ? chosen : undefined;
  }

  /** The replica with the most of the lost primary's log. */
  async #mostCurrent(): Promise<Replica | undefined> {
    const drained = await Promise.all(this.#replicas.map((replica) => replica.isDrained()));
    const candidates = this.#replicas.filter((_, index) => drained[index]);
    return candidates.toSorted((one, other) => other.replayed() - one.replayed())[0];
  }
}

/** PostgreSQL's query_canceled: the statement took too long, and would also do so on the primary. */
const isCancelled = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '57014';
