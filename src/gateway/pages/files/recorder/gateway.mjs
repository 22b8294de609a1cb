/** Requests to the gateway. */

import { GATEWAY, KEY, MAX_PAUSE_MS, REQUEST_TIMEOUT_MS, SEND_EVERY_MS } from './common.mjs';
import { Problem, reasonOf, Refusal } from './failures.mjs';
import { accessToken } from './logins.mjs';

/** How long the next request should wait, so that other recorders with the key can send as well. */
export let paceMs = SEND_EVERY_MS;

/** Spreads what is left of the rate limit over the rest of the minute, when less than half of it is left. @param {Headers} headers */
export function keepPace(headers) {
  const [limit = 0, left = 0, seconds = 0] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`ratelimit-${name}`)),
  );
  const spread = Math.min(MAX_PAUSE_MS, 1000 * (seconds + 1), (4000 * seconds) / (left + 1));
  paceMs = 2 * left >= limit ? SEND_EVERY_MS : Math.max(SEND_EVERY_MS, spread);
}

/**
 * @param {string} path @param {string | Uint8Array<ArrayBuffer>} body @param {Record<string, string>} headers @param {string} [method]
 * @returns {Promise<{ id: string, htmlUrl: string } | undefined>} the answer, whose members are those of a session only where it is one
 * @throws Refusal, or Problem when sending again can help
 */
export async function post(path, body, headers, method = 'POST') {
  const { status, headers: answered, text } = await answerOf(path, body, headers, method);
  keepPace(answered);
  if (status >= 200 && status < 300) {
    /** @type {{ id: string, htmlUrl: string }} */
    const answer = JSON.parse(text);
    return answer;
  }
  const message = /"error":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);
  if (status === 408 || status === 429 || status >= 500)
    throw new Problem(
      `the gateway answered ${status}: ${message}`,
      Number(answered.get('retry-after')) * 1000 || undefined,
    );
  throw new Refusal(status, message);
}

/**
 * @param {string} path @param {string | Uint8Array<ArrayBuffer>} body @param {Record<string, string>} headers @param {string} method
 * @throws Problem, or Refusal when the login has ended
 */
export async function answerOf(path, body, headers, method) {
  if (KEY !== '') return send(KEY);
  const token = await accessToken(GATEWAY);
  const answer = await send(token);
  return answer.status === 401 ? send(await accessToken(GATEWAY, token)) : answer;

  /** @param {string} credential */
  async function send(credential) {
    try {
      const response = await fetch(`${GATEWAY}${path}`, {
        method,
        headers: { Authorization: `Bearer ${credential}`, ...headers },
        body,
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      throw new Problem(reasonOf(error));
    }
  }
}

/** @param {string} path @param {object} body @param {string} key */
export const postJson = (path, body, key) =>
  post(path, JSON.stringify(body), { 'Content-Type': 'application/json', 'Idempotency-Key': key });

/** @param {unknown} error @returns {error is Refusal} */
export const isConflict = (error) => error instanceof Refusal && error.status === 409;
