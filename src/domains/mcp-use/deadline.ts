import type { Timing } from '../../core/timing.ts';
import { UpstreamError } from './upstream-error.ts';

/** The caller no longer waits for the answer. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
}

export interface Bounds {
  readonly silenceMs: number | undefined;
  readonly totalMs: number;
}

/** Ends an exchange with a server: when the caller leaves, when the server is silent for too long, or when it takes too long in all. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #silence: NodeJS.Timeout | undefined;
  readonly #total: NodeJS.Timeout;
  readonly #caller: AbortSignal | undefined;
  readonly #abortForCaller = () => this.#abort.abort(new CallerLeft());

  constructor(caller: AbortSignal | undefined, { silenceMs, totalMs }: Bounds) {
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
  readonly onBytes = (): void => void this.#silence?.refresh();

  /** Ends the exchange for another reason. */
  readonly abort = (reason: Error): void => this.#abort.abort(reason);

  /** The exchange has ended. */
  readonly end = (): void => {
    clearTimeout(this.#silence);
    clearTimeout(this.#total);
    this.#caller?.removeEventListener('abort', this.#abortForCaller);
  };
}

/** The bounds of a call. */
export function boundsOfCall({ upstreamSilenceMs, upstreamTotalMs }: Timing): Bounds {
  return { silenceMs: upstreamSilenceMs, totalMs: upstreamTotalMs };
}

/** The bounds of a stream that a client holds open to receive messages: silence is normal. */
export function boundsOfStream({ upstreamTotalMs }: Timing): Bounds {
  return { silenceMs: undefined, totalMs: upstreamTotalMs };
}
