import { LRUCache } from 'lru-cache';
import { DomainError } from '../../core/errors.ts';
import { clientNetworkOf } from '../../core/http/client-address.ts';

/**
 * What one client address may do in a minute without a valid key: each kind is counted by itself, refused credentials and the operations that
 * need no key. Each process counts for itself, in memory of a fixed size.
 */
export interface ClientLimits {
  /** Counts a request, and gives the error of the next one after the bound: 429 with `Retry-After`. Without an address nothing is counted. */
  count(kind: string, address: string | undefined): DomainError | undefined;
}

interface Window {
  readonly endsAt: number;
  count: number;
}

const MINUTE_MS = 60_000;
/** Addresses that are remembered; of more than that, those are forgotten that were seen least recently. */
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
      // A clock that was set back would else keep a client out for longer.
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
    `more than ${limit} requests a minute without a valid API key from this address; try again in ${seconds} s`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
