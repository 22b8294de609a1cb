/** Why a request failed. */

import { textOf } from './common.ts';
import { REQUEST_TIMEOUT_MS } from './limits.ts';

/** What has arrived of a file: how many lines, and the hash of the last one. */
export interface ArrivedFile {
  readonly name: string;
  readonly lines: number;
  readonly mark: string;
}

/** The gateway has refused a request, so that sending it again is of no use. */
export class Refusal extends Error {
  readonly status: number;
  /** What has arrived of the files of a session, where lines before those that were sent are missing. */
  readonly files: readonly ArrivedFile[] | undefined;

  constructor(status: number, message: string, files?: readonly ArrivedFile[]) {
    super(`the gateway answered ${status}: ${message}`);
    this.status = status;
    this.files = files;
  }
}

/** A request that can be sent again after a while. */
export class Problem extends Error {
  readonly pauseMs: number | undefined;

  constructor(message: string, pauseMs?: number) {
    super(message);
    this.pauseMs = pauseMs;
  }
}

/** Why there was no answer. */
export function reasonOf(error: unknown) {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `the gateway has not answered within ${REQUEST_TIMEOUT_MS / 1000} seconds`;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  return `the gateway cannot be reached: ${cause?.code ?? cause?.message ?? textOf(error)}`;
}
