import type { Slot } from '../../core/fair-shares.ts';
import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { UsableConnection } from '../mcp-connections/public.ts';
import { CALLS_OF_PERSON, boundOfOrganization } from '../../core/pools.ts';
import type { Message } from './message.ts';
import type { Timing } from '../../core/timeouts.ts';
import { UpstreamError } from './errors.ts';
import { DomainError } from '../../core/errors.ts';
import { Sums } from '../../core/swept-map.ts';

/** The caller no longer waits for the answer. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

/** The caller has canceled the call, and waits for no answer. */
export class CallCanceled extends CallerLeft {}

interface Bounds {
  readonly silenceMs: number | undefined;
  readonly totalMs: number;
  /** Called with the size of each piece of an answer. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

/** Ends an exchange with a server: when the caller leaves, when the server is silent for too long, or when it takes too long in all. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #silence: NodeJS.Timeout | undefined;
  readonly #total: NodeJS.Timeout;
  readonly #caller: AbortSignal | undefined;
  readonly #onBytes: ((count: number) => void) | undefined;
  readonly #abortForCaller = () => {
    const reason: unknown = this.#caller?.reason;
    // The deadline of several exchanges together.
    this.#abort.abort(reason instanceof UpstreamError ? reason : new CallerLeft());
  };

  constructor(caller: AbortSignal | undefined, { silenceMs, totalMs, onBytes }: Bounds) {
    this.#onBytes = onBytes;
    this.signal = this.#abort.signal;
    this.#caller = caller;
    const end = (message: string) => this.#abort.abort(new UpstreamError('UPSTREAM_TIMEOUT', message));
    if (silenceMs !== undefined)
      this.#silence = setTimeout(end, silenceMs, `the MCP server sent nothing for ${silenceMs / 1000} s`);
    this.#total = setTimeout(end, totalMs, `the MCP server did not finish within ${totalMs / 1000} s`);
    if (caller?.aborted) this.#abortForCaller();
    else caller?.addEventListener('abort', this.#abortForCaller, { once: true });
  }

  /** The server has sent something. */
  readonly onBytes = (count: number): void => {
    this.#silence?.refresh();
    this.#onBytes?.(count);
  };

  /** Ends the exchange for another reason. */
  readonly abort = (reason: Error): void => this.#abort.abort(reason);

  /** The exchange has ended. */
  readonly end = (): void => {
    clearTimeout(this.#silence);
    clearTimeout(this.#total);
    this.#caller?.removeEventListener('abort', this.#abortForCaller);
  };
}

export const boundsOfCall = ({ upstreamSilenceMs, upstreamTotalMs }: Timing): Bounds => ({
  silenceMs: upstreamSilenceMs,
  totalMs: upstreamTotalMs,
});

/** The bounds of a stream that a client holds open to receive messages: silence is normal. */
export const boundsOfStream = ({ upstreamTotalMs }: Timing): Bounds => ({
  silenceMs: undefined,
  totalMs: upstreamTotalMs,
});

/** One exchange with the server of a connection. */
export interface Call {
  readonly context: OperationContext;
  readonly connection: UsableConnection;
  /** The message of a client that is passed on; absent if the gateway writes it, and for GET and DELETE. */
  readonly message?: Message | undefined;
  readonly deadline: Deadline;
  /** Call before a request is sent: waits for a slot of the pool of calls, once. @throws TooManyAtOnceError */
  readonly begin: () => Promise<unknown>;
  /** Ends its deadline, and counts it no longer. */
  readonly end: () => void;
}

interface Wanted extends Pick<Call, 'context' | 'connection' | 'message'> {
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal | undefined;
  readonly bounds: Bounds;
}

/** Counts an exchange in one of the ways above, and begins its deadline. @throws DomainError (429) */
export function beginCall(
  count: (context: OperationContext, id: McpConnectionId) => () => void,
  { signal, bounds, ...call }: Wanted,
): Call {
  const endCount = count(call.context, call.connection.id);
  const deadline = new Deadline(signal, bounds);
  let slot: Promise<Slot> | undefined;
  return {
    ...call,
    deadline,
    begin: () => (slot ??= takeSlot(call.context, deadline)),
    end: () => {
      deadline.end();
      endCount();
      // A refusal was thrown where the call began.
      void slot?.then((taken) => taken.release()).catch(() => undefined);
    },
  };
}

/** The bounds of a key and a connection hold beside it. */
async function takeSlot({ pools, actor: { userId: person, organization } }: OperationContext, deadline: Deadline) {
  const id = organization?.id ?? person;
  const bounds = [boundOfOrganization(id)];
  return pools.calls.take({ kind: 'person', person, max: CALLS_OF_PERSON, organization: id, bounds }, deadline);
}

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

const ofKey = ({ actor }: OperationContext): Counted => ({
  name: `key ${actor.keyId}`,
  owner: 'an API key',
  max: MAX_OF_KEY,
});

const ofConnection = (id: McpConnectionId): Counted => ({
  name: `connection ${id}`,
  owner: 'an MCP connection',
  max: MAX_OF_CONNECTION,
});

/** Counts a call until the returned function is called. @throws DomainError (429) */
export const countCall = (context: OperationContext, id: McpConnectionId): (() => void) =>
  context.caches.of(newCalls).begin('calls', [ofKey(context), ofConnection(id)]);

/** Counts a request that calls several servers as one call of the key. @throws DomainError (429) */
export const countCallOfKey = (context: OperationContext): (() => void) =>
  context.caches.of(newCalls).begin('calls', [ofKey(context)]);

/** Counts what such a request asks of one of the servers. @throws DomainError (429) */
export const countCallOfConnection = ({ caches }: OperationContext, id: McpConnectionId): (() => void) =>
  caches.of(newCalls).begin('calls', [ofConnection(id)]);

/** The same for a stream that a client holds open to receive messages. It does not count as a call. */
export const countStream = (context: OperationContext, id: McpConnectionId): (() => void) =>
  context.caches.of(newStreams).begin('streams', [ofKey(context), ofConnection(id)]);
