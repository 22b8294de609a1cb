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
/** Maximum number of addresses in memory. The least recently seen addresses are removed first. */
const MAX_CLIENTS = 20_000;

/** The minute of a client begins with its first request. */
export function createClientLimits({ now, limit }: { readonly now: () => Date; readonly limit: number }): ClientLimits {
  const windows = new LRUCache<string, Window>({ max: MAX_CLIENTS });
  return {
    count(kind, address) {
      if (address === undefined) return undefined;
      const at = now().getTime();
      const client = `${kind} ${clientNetworkOf(address)}`;
      const known = windows.get(client);
      // The upper bound matters when the clock is set back: the client would be refused for longer otherwise.
      const isOpen = known && known.endsAt > at && known.endsAt <= at + MINUTE_MS;
      const window = isOpen ? known : { endsAt: at + MINUTE_MS, count: 0 };
      if (!isOpen) windows.set(client, window);
      window.count += 1;
      return window.count > limit ? limited(limit, Math.ceil((window.endsAt - at) / 1000)) : undefined;
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
