import { DomainError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import { Sums } from '../../core/sums.ts';

/** Maximum number of exchanges at once in this process. */
const MAX_OF_KEY = 10;
const MAX_OF_CONNECTION = 20;

interface Counted {
  readonly name: string;
  readonly owner: string;
  readonly max: number;
}

class OpenExchanges {
  readonly #counts = new Sums();

  /** @returns a function that ends the exchange. @throws DomainError (429) above a limit. */
  begin(what: string, counted: readonly Counted[]): () => void {
    for (const { name, owner, max } of counted)
      if (this.#counts.get(name) >= max)
        throw new DomainError(
          'rateLimited',
          `${owner} can have at most ${max} ${what} at once; try again when one has ended`,
          { headers: { 'Retry-After': '1' } },
        );
    for (const { name } of counted) this.#counts.add(name, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      for (const { name } of counted) this.#counts.add(name, -1);
    };
  }
}

const newCalls = () => new OpenExchanges();
const newStreams = () => new OpenExchanges();

function ofKey({ actor }: OperationContext): Counted {
  return { name: `key ${actor.keyId}`, owner: 'an API key', max: MAX_OF_KEY };
}

function ofConnection(id: McpConnectionId): Counted {
  return { name: `connection ${id}`, owner: 'an MCP connection', max: MAX_OF_CONNECTION };
}

/** Counts a call until the returned function is called. @throws DomainError (429) */
export function countCall(context: OperationContext, id: McpConnectionId): () => void {
  return context.caches.of(newCalls).begin('calls', [ofKey(context), ofConnection(id)]);
}

/** Counts a request that calls several servers as one call of the key. @throws DomainError (429) */
export function countCallOfKey(context: OperationContext): () => void {
  return context.caches.of(newCalls).begin('calls', [ofKey(context)]);
}

/** Counts what such a request asks of one of the servers. @throws DomainError (429) */
export function countCallOfConnection({ caches }: OperationContext, id: McpConnectionId): () => void {
  return caches.of(newCalls).begin('calls', [ofConnection(id)]);
}

/** The same for a stream that a client holds open to receive messages. It does not count as a call. */
export function countStream(context: OperationContext, id: McpConnectionId): () => void {
  return context.caches.of(newStreams).begin('streams', [ofKey(context), ofConnection(id)]);
}
