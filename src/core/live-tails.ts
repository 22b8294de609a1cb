import type { Logger } from 'pino';
import { isDatabaseAway } from './postgres/failures.ts';
import { DomainError } from './errors.ts';
import type { Notifier } from './postgres/notifications.ts';

/** Who follows. */
export interface Follower {
  readonly keyId: string;
  readonly organization: { readonly id: string } | undefined;
}

/** Requests that follow something and go on until it ends: streams of events and subscriptions. */
export interface LiveTails {
  /**
   * Begins to follow topics: what the request reads, and the key it was made with. To be closed in any case; `signal` closes it, too.
   * @throws DomainError 429 when the key or the organization has as many as it may have in this process.
   */
  open(follower: Follower, topics: readonly string[], signal: AbortSignal | undefined): LiveTail;
}

export interface LiveTail {
  /**
   * Resolves when one of the topics may have changed since the last call, here or in another process, when it is closed, or after `timeoutMs`.
   * A change between two calls is not missed.
   */
  changed(timeoutMs?: number): Promise<void>;
  close(): void;
}

export interface LiveTailsOptions {
  readonly notifier: Notifier;
  /** How often topics are looked at without a notification, which may be lost. */
  readonly pollMs: number;
  /** A version of the present state of each topic; two states differ in it. One call serves all tails of the process. */
  readonly versionsOf: (topics: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly maxOfKey: number;
  readonly maxOfOrganization: number;
  readonly log: Pick<Logger, 'error'>;
}

interface Followed {
  readonly topics: readonly string[];
  readonly wake: () => void;
  /** Undefined until the first poll, which wakes: what changed before it is not known. */
  version: string | undefined;
}

export function createLiveTails(options: LiveTailsOptions): LiveTails {
  const { notifier, pollMs, versionsOf, log } = options;
  const followed = new Set<Followed>();
  const counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;

  async function poll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    try {
      const tails = [...followed];
      const versions = await versionsOf([...new Set(tails.flatMap(({ topics }) => topics))]);
      for (const tail of tails) {
        const version = tail.topics.map((topic) => versions.get(topic) ?? '').join(' ');
        if (version === tail.version) continue;
        tail.version = version;
        tail.wake();
      }
    } catch (error) {
      // The next poll finds it again.
      if (isDatabaseAway(error)) return;
      log.error({ err: error }, 'live tails cannot be polled');
      // They look for themselves, as long as this lasts.
      for (const tail of followed) tail.wake();
    } finally {
      isPolling = false;
    }
  }

  function count(name: string, by: 1 | -1): number {
    const next = (counts.get(name) ?? 0) + by;
    if (next > 0) counts.set(name, next);
    else counts.delete(name);
    return next;
  }

  function admit({ keyId, organization }: Follower): () => void {
    const bounds: [name: string, max: number, whose: string][] = [[keyId, options.maxOfKey, 'an API key']];
    if (organization) bounds.push([organization.id, options.maxOfOrganization, 'an organization']);
    for (const [name, max, whose] of bounds) {
      if ((counts.get(name) ?? 0) < max) continue;
      const message = `at most ${max} live streams of ${whose} at once; end one first`;
      throw new DomainError('rateLimited', message, { headers: { 'Retry-After': '10' } });
    }
    for (const [name] of bounds) count(name, 1);
    return () => {
      for (const [name] of bounds) count(name, -1);
    };
  }

  return {
    open(follower, topics, signal) {
      const release = admit(follower);
      let hasChanged = false;
      let isClosed = false;
      let wakeUp: (() => void) | undefined;
      const wake = () => {
        hasChanged = true;
        wakeUp?.();
      };
      const tail: Followed = { topics, wake, version: undefined };
      followed.add(tail);
      timer ??= setInterval(() => void poll(), pollMs).unref();
      const subscriptions = topics.map((topic) => notifier.subscribe(topic, wake));
      const close = () => {
        if (isClosed) return;
        isClosed = true;
        followed.delete(tail);
        for (const unsubscribe of subscriptions) unsubscribe();
        if (followed.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
        release();
        wake();
      };
      if (signal?.aborted) close();
      else signal?.addEventListener('abort', close, { once: true });
      return {
        async changed(timeoutMs) {
          if (!hasChanged && !isClosed) {
            await new Promise<void>((resolve) => {
              const timeout = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
              wakeUp = () => {
                clearTimeout(timeout);
                resolve();
              };
            });
          }
          hasChanged = false;
          wakeUp = undefined;
        },
        close,
      };
    },
  };
}

/** How the client of a subscription goes on behind the last event that it has seen, where the events have ids. */
export interface Resumption {
  /** As the client sends it, in `Last-Event-ID`. */
  readonly lastEventId: string | null;
  /** The id of the event that is sent next. Set by the source of the events as it gives each of them. */
  eventId?: string;
}
