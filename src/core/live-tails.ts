import type { Logger } from 'pino';
import { isDatabaseAway } from './postgres/failures.ts';
import { DomainError } from './errors.ts';
import type { ApiKeyId, OrganizationId } from './ids.ts';
import type { Notifier } from './postgres/notifications.ts';
import { Sums } from './swept-map.ts';

/** The caller of a live stream. */
export interface Follower {
  readonly keyId: ApiKeyId;
  readonly organization: { readonly id: OrganizationId } | undefined;
}

/** Requests that stay open until what they follow ends: event streams and subscriptions. */
export interface LiveTails {
  /**
   * Starts to follow topics: the data that the request reads, and its credential. Must be closed; `signal` closes it, too.
   * @throws DomainError 429 if the key or the organization has too many live streams in this process.
   */
  open(follower: Follower, topics: readonly string[], signal: AbortSignal | undefined): LiveTail;
}

export interface LiveTail {
  /**
   * Resolves when one of the topics may have changed since the last call, in any process, when the tail is closed, or after `timeoutMs`.
   * Changes between two calls are not missed.
   */
  changed(timeoutMs?: number): Promise<void>;
  close(): void;
}

export interface LiveTailsOptions {
  readonly notifier: Notifier;
  /** Interval in which topics are polled, because notifications may be lost. */
  readonly pollMs: number;
  /** Versions of the current state of topics; different states have different versions. One call serves all tails of the process. */
  readonly versionsOf: (topics: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly maxOfKey: number;
  readonly maxOfOrganization: number;
  readonly log: Pick<Logger, 'error'>;
}

export const createLiveTails = (options: LiveTailsOptions): LiveTails => new PolledTails(options);

class PolledTails implements LiveTails {
  readonly #options: LiveTailsOptions;
  readonly #counts: TailCounts;
  readonly #open = new Set<Tail>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(options: LiveTailsOptions) {
    this.#options = options;
    this.#counts = new TailCounts(options);
  }

  open(follower: Follower, topics: readonly string[], signal: AbortSignal | undefined): LiveTail {
    const release = this.#counts.admit(follower);
    const tail = new Tail(topics, () => {
      this.#remove(tail);
      for (const unsubscribe of subscriptions) unsubscribe();
      release();
    });
    this.#open.add(tail);
    this.#timer ??= setInterval(() => void this.#poll(), this.#options.pollMs).unref();
    const subscriptions = topics.map((topic) => this.#options.notifier.subscribe(topic, () => tail.wake()));
    if (signal?.aborted) tail.close();
    else signal?.addEventListener('abort', () => tail.close(), { once: true });
    return tail;
  }

  #remove(tail: Tail): void {
    this.#open.delete(tail);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      const tails = [...this.#open];
      const versions = await this.#options.versionsOf([...new Set(tails.flatMap(({ topics }) => topics))]);
      for (const tail of tails) tail.compare(versions);
    } catch (error) {
      // The next poll retries.
      if (isDatabaseAway(error)) return;
      this.#options.log.error({ err: error }, 'live tails cannot be polled');
      // The tails poll by themselves as long as this fails.
      for (const tail of this.#open) tail.wake();
    } finally {
      this.#isPolling = false;
    }
  }
}

class Tail implements LiveTail {
  readonly topics: readonly string[];
  readonly #onClose: () => void;
  /** Undefined until the first poll, which always wakes, because earlier changes are unknown. */
  #version: string | undefined;
  #hasChanged = false;
  #isClosed = false;
  #wakeUp: (() => void) | undefined;

  constructor(topics: readonly string[], onClose: () => void) {
    this.topics = topics;
    this.#onClose = onClose;
  }

  /** Wakes the tail if a topic has another version than at the last poll. */
  compare(versions: ReadonlyMap<string, string>): void {
    const version = this.topics.map((topic) => versions.get(topic) ?? '').join(' ');
    if (version === this.#version) return;
    this.#version = version;
    this.wake();
  }

  wake(): void {
    this.#hasChanged = true;
    this.#wakeUp?.();
  }

  async changed(timeoutMs?: number): Promise<void> {
    if (!this.#hasChanged && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        const timeout = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
        this.#wakeUp = () => {
          clearTimeout(timeout);
          resolve();
        };
      });
    }
    this.#hasChanged = false;
    this.#wakeUp = undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClose();
    this.wake();
  }
}

/** Counts the open tails of each key and organization. */
class TailCounts {
  readonly #max: Pick<LiveTailsOptions, 'maxOfKey' | 'maxOfOrganization'>;
  readonly #counts = new Sums();

  constructor(max: Pick<LiveTailsOptions, 'maxOfKey' | 'maxOfOrganization'>) {
    this.#max = max;
  }

  /** Counts one more tail; the returned function subtracts it again. @throws DomainError 429 */
  admit({ keyId, organization }: Follower): () => void {
    const bounds: [name: string, max: number, whose: string][] = [[keyId, this.#max.maxOfKey, 'an API key']];
    if (organization) bounds.push([organization.id, this.#max.maxOfOrganization, 'an organization']);
    for (const [name, max, whose] of bounds) {
      if (this.#counts.get(name) < max) continue;
      const message = `at most ${max} live streams of ${whose} at once; end one first`;
      throw new DomainError('rateLimited', message, { headers: { 'Retry-After': '10' } });
    }
    for (const [name] of bounds) this.#counts.add(name, 1);
    return () => {
      for (const [name] of bounds) this.#counts.add(name, -1);
    };
  }
}

/** How a client resumes a subscription whose events have ids. */
export interface Resumption {
  /** From the header `Last-Event-ID`. */
  readonly lastEventId: string | null;
  /** The id of the next event, set by the source before it yields the event; in the end, the id to resume from. */
  eventId?: string;
  /** Set by a source that begins where its events have ended. */
  hasEnded?: boolean;
}
