import { LRUCache } from 'lru-cache';
import { DomainError } from '../../core/errors.ts';
import { clientNetworkOf } from '../../core/http/client-address.ts';

/**
 * Rate limits of a client address for requests without a valid key. Each kind of request has its own limit: refused credentials, and each
 * operation that needs no key. Every process counts separately, in memory of bounded size.
 */
export interface ClientLimits {
  /** Counts a request. @returns the error (429 with `Retry-After`) when the limit is exceeded. Without an address nothing is counted. */
  count(kind: string, address: string | undefined): DomainError | undefined;
}

interface Window {
  readonly endsAt: number;
  count: number;
}

const MINUTE_MS = 60_000;
/** Maximum number of addresses or people in memory. The least recently seen ones are removed first. */
const MAX_COUNTED = 20_000;

interface WindowsOptions {
  readonly now: () => Date;
  readonly limit: number;
  readonly windowMs: number;
}

/** Counts something by name, in windows of time that begin with the first of it. */
export class CountedWindows {
  readonly #windows = new LRUCache<string, Window>({ max: MAX_COUNTED });
  readonly #options: WindowsOptions;

  constructor(options: WindowsOptions) {
    this.#options = options;
  }

  /** Counts one more. @returns the seconds to wait, if it is one too many. */
  count(name: string): number | undefined {
    const window = this.#windowOf(name);
    this.#windows.set(name, window);
    window.count += 1;
    return window.count > this.#options.limit ? this.#secondsOf(window) : undefined;
  }

  /** The seconds to wait, if one more would be too many. */
  fullFor(name: string): number | undefined {
    const window = this.#windowOf(name);
    return window.count >= this.#options.limit ? this.#secondsOf(window) : undefined;
  }

  #windowOf(name: string): Window {
    const { now, windowMs } = this.#options;
    const at = now().getTime();
    const known = this.#windows.get(name);
    // The upper bound matters when the clock is set back: what is counted would be refused for longer otherwise.
    return known && known.endsAt > at && known.endsAt <= at + windowMs ? known : { endsAt: at + windowMs, count: 0 };
  }

  #secondsOf({ endsAt }: Window): number {
    return Math.ceil((endsAt - this.#options.now().getTime()) / 1000);
  }
}

/** The minute of a client begins with its first request. */
export function createClientLimits({ now, limit }: { readonly now: () => Date; readonly limit: number }): ClientLimits {
  const windows = new CountedWindows({ now, limit, windowMs: MINUTE_MS });
  return {
    count(kind, address) {
      if (address === undefined) return undefined;
      const seconds = windows.count(`${kind} ${clientNetworkOf(address)}`);
      return seconds === undefined ? undefined : limited(limit, seconds);
    },
  };
}

function limited(limit: number, seconds: number): DomainError {
  return new DomainError(
    'rateLimited',
    `rate limit exceeded: ${limit} requests per minute without a valid API key from this address; try again in ${seconds} s`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
