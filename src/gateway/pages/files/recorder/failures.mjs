/** Why a request failed. */

import { REQUEST_TIMEOUT_MS, textOf } from './common.mjs';

/** The gateway has refused a request, so that sending it again is of no use. */
export class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(`the gateway answered ${status}: ${message}`);
    this.status = status;
  }
}

/** A request that can be sent again after a while. */
export class Problem extends Error {
  /** @param {string} message @param {number} [pauseMs] */
  constructor(message, pauseMs) {
    super(message);
    this.pauseMs = pauseMs;
  }
}

/** Why there was no answer. @param {unknown} error */
export function reasonOf(error) {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `the gateway has not answered within ${REQUEST_TIMEOUT_MS / 1000} seconds`;
  const { cause } = /** @type {{ cause?: { code?: string, message?: string } }} */ (error);
  return `the gateway cannot be reached: ${cause?.code ?? cause?.message ?? textOf(error)}`;
}
