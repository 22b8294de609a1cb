import { DomainError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { McpConnectionId } from '../../core/ids.ts';

/** Maximum number of exchanges at once in this process. */
const MAX_OF_KEY = 10;
const MAX_OF_CONNECTION = 20;

class OpenExchanges {
  readonly #counts = new Map<string, number>();

  /** @returns a function that ends the exchange. @throws DomainError (429) above a limit. */
  begin(what: string, keyId: string, connectionId: string): () => void {
    const key = `key ${keyId}`;
    const connection = `connection ${connectionId}`;
    this.#require(key, MAX_OF_KEY, `an API key can have at most ${MAX_OF_KEY} ${what} at once`);
    this.#require(
      connection,
      MAX_OF_CONNECTION,
      `an MCP connection can have at most ${MAX_OF_CONNECTION} ${what} at once`,
    );
    this.#add(key, 1);
    this.#add(connection, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#add(key, -1);
      this.#add(connection, -1);
    };
  }

  #require(name: string, max: number, message: string): void {
    if ((this.#counts.get(name) ?? 0) >= max)
      throw new DomainError('rateLimited', `${message}; try again when one has ended`, {
        headers: { 'Retry-After': '1' },
      });
  }

  #add(name: string, by: number): void {
    const count = (this.#counts.get(name) ?? 0) + by;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

const newCalls = () => new OpenExchanges();
const newStreams = () => new OpenExchanges();

/** Counts a call until the returned function is called. @throws DomainError (429) */
export function beginCall({ caches, actor }: OperationContext, id: McpConnectionId): () => void {
  return caches.of(newCalls).begin('calls', actor.keyId, id);
}

/** The same for a stream that a client holds open to receive messages. It does not count as a call. */
export function beginStream({ caches, actor }: OperationContext, id: McpConnectionId): () => void {
  return caches.of(newStreams).begin('streams', actor.keyId, id);
}
