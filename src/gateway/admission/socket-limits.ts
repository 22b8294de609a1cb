import { DomainError } from '../../core/errors.ts';
import { clientNetworkOf } from '../../core/http/client-address.ts';
import type { ApiKeyId } from '../../core/ids.ts';
import { Sums } from '../../core/swept-map.ts';
import type { Bounds } from '../bounds.ts';

type SocketBounds = Pick<
  Bounds,
  'socketsOfClient' | 'waitingSocketsOfClient' | 'socketsOfKey' | 'unfinishedBytesOfKey' | 'unfinishedBytes'
>;

/** What the open WebSockets of one process take: of a client address, until the caller is known, and of a key from then on. */
export class SocketLimits {
  readonly #bounds: SocketBounds;
  readonly #open = new Sums();
  readonly #waiting = new Sums();
  readonly #ofKey = new Sums();
  readonly #bytesOfKey = new Sums();
  #bytes = 0;

  constructor(bounds: SocketBounds) {
    this.#bounds = bounds;
  }

  /** Counts a new socket. `address` is undefined for calls within the process. @throws DomainError (429) above a limit of its client. */
  take(address: string | undefined): SocketPlace {
    const client = address === undefined ? undefined : clientNetworkOf(address);
    const { socketsOfClient, waitingSocketsOfClient } = this.#bounds;
    if (client !== undefined && this.#waiting.get(client) >= waitingSocketsOfClient)
      throw tooMany(`${waitingSocketsOfClient} WebSockets of a client address that have not sent an API key`);
    if (client !== undefined && this.#open.get(client) >= socketsOfClient)
      throw tooMany(`${socketsOfClient} WebSockets of a client address`);
    return this.#placeOf(client ?? '');
  }

  #placeOf(client: string): SocketPlace {
    let keyId: ApiKeyId | undefined;
    let isOpen = true;
    let held = 0;
    const hold = (bytes: number) => {
      this.#bytes += bytes - held;
      if (keyId !== undefined) this.#bytesOfKey.add(keyId, bytes - held);
      held = bytes;
    };
    this.#open.add(client, 1);
    this.#waiting.add(client, 1);
    return {
      admit: (by) => {
        if (!isOpen || this.#ofKey.get(by) >= this.#bounds.socketsOfKey) return false;
        this.#waiting.add(client, -1);
        this.#ofKey.add(by, 1);
        this.#bytesOfKey.add(by, held);
        keyId = by;
        return true;
      },
      hold: (bytes) => {
        hold(bytes);
        if (keyId !== undefined && this.#bytesOfKey.get(keyId) > this.#bounds.unfinishedBytesOfKey) return 'key';
        return this.#bytes > this.#bounds.unfinishedBytes ? 'process' : undefined;
      },
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        hold(0);
        this.#open.add(client, -1);
        if (keyId === undefined) this.#waiting.add(client, -1);
        else this.#ofKey.add(keyId, -1);
      },
    };
  }
}

/** What one socket takes. */
export interface SocketPlace {
  /** The caller is known. @returns false if the key has too many sockets. */
  admit(keyId: ApiKeyId): boolean;
  /** Sets the bytes that have arrived of a message that is not complete. @returns whose messages take too much. */
  hold(bytes: number): 'key' | 'process' | undefined;
  /** The socket is closed. */
  release(): void;
}

function tooMany(limit: string): DomainError {
  const message = `at most ${limit} at once; close one first`;
  return new DomainError('rateLimited', message, { headers: { 'Retry-After': '1' } });
}
