import { DomainError, RemoteFailedError } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { type UsableConnection, noteRefusal } from '../mcp-connections/public.ts';
import { type Call, Deadline, beginCall, countCallOfConnection } from './server-call.ts';
import { UpstreamError } from './errors.ts';

/** Maximum size of what the servers of one answer send together. */
export const MAX_ROUND_BYTES = 8 * 1024 * 1024;

/** What a server of a round has sent. */
interface Share {
  bytes: number;
  isDropped: boolean;
  wasAsked: boolean;
  /** Ends its exchange, if it has one. */
  drop: ((error: Error) => void) | undefined;
}

/**
 * Asks several servers at once, with one deadline. When they have sent too much together, the one that has sent most is dropped, so that it
 * takes nothing from the others.
 */
export class ServerRound {
  readonly #context: OperationContext;
  readonly #deadline: Deadline;
  readonly #shares = new Set<Share>();
  readonly #over: Promise<never>;
  #bytes = 0;

  constructor(context: OperationContext) {
    const { signal, timing } = context;
    this.#context = context;
    this.#deadline = new Deadline(signal, { silenceMs: undefined, totalMs: timing.upstreamListMs });
    const over = Promise.withResolvers<never>();
    this.#over = over.promise;
    this.#over.catch(() => undefined);
    this.#deadline.signal.addEventListener('abort', () => over.reject(this.#deadline.signal.reason), { once: true });
    if (this.#deadline.signal.aborted) over.reject(this.#deadline.signal.reason);
  }

  /**
   * Runs the work for one of the servers. With `isFailureNoted`, one that does not answer in time has failed.
   * @throws what the work throws, UpstreamError at the deadline, and DroppedError.
   */
  async ask<Answer>(
    connection: UsableConnection,
    work: (exchange: (run: (call: Call) => Promise<Answer>) => Promise<Answer>) => Promise<Answer>,
    { isFailureNoted = false }: { readonly isFailureNoted?: boolean } = {},
  ): Promise<{ readonly answer: Answer; readonly isDropped: () => boolean }> {
    const share: Share = { bytes: 0, isDropped: false, wasAsked: false, drop: undefined };
    this.#shares.add(share);
    try {
      const answer = await Promise.race([work((run) => this.#exchange(connection, share, run)), this.#over]);
      return { answer, isDropped: () => share.isDropped };
    } catch (error) {
      const isLate = error instanceof UpstreamError && error.reason === 'UPSTREAM_TIMEOUT';
      if (isFailureNoted && isLate && share.wasAsked)
        await noteRefusal(this.#context, connection, new RemoteFailedError(error.message));
      throw error;
    }
  }

  /** Call when all were asked. */
  end(): void {
    this.#deadline.end();
  }

  async #exchange<Answer>(
    connection: UsableConnection,
    share: Share,
    run: (call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    const context = this.#context;
    const { signal } = this.#deadline;
    const bounds = {
      silenceMs: undefined,
      totalMs: context.timing.upstreamListMs,
      onBytes: (count: number) => this.#count(share, count),
    };
    const call = beginCall(countCallOfConnection, { context, connection, signal, bounds });
    share.drop = call.deadline.abort;
    try {
      await call.begin();
      share.wasAsked = true;
      return await run(call);
    } finally {
      share.drop = undefined;
      call.end();
    }
  }

  #count(share: Share, bytes: number): void {
    if (share.isDropped) return;
    share.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > MAX_ROUND_BYTES) this.#dropLargest();
  }

  #dropLargest(): void {
    let largest: Share | undefined;
    for (const share of this.#shares) if (!share.isDropped && share.bytes >= (largest?.bytes ?? 1)) largest = share;
    if (!largest) return;
    this.#bytes -= largest.bytes;
    largest.isDropped = true;
    largest.drop?.(new DroppedError());
  }
}

/** What a server has sent is left out. */
export class DroppedError extends DomainError {
  constructor() {
    super(
      'answerTooLarge',
      `it is left out: all servers together have sent more than ${MAX_ROUND_BYTES} bytes (8 MiB), and it most`,
    );
  }
}
