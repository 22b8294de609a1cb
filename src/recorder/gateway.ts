/** Requests to the gateway. */

import { GATEWAY, KEY } from './common.ts';
import { MAX_PAUSE_MS, REQUEST_TIMEOUT_MS, SEND_EVERY_MS } from './limits.ts';
import { type ArrivedFile, Problem, reasonOf, Refusal } from './failures.ts';
import { accessToken } from './logins.ts';

/** How long the next request should wait, so that other recorders with the key can send as well. */
export let paceMs = SEND_EVERY_MS;

/** Spreads what is left of the rate limit over the rest of the minute, when less than half of it is left. */
export function keepPace(headers: Headers) {
  const [limit = 0, left = 0, seconds = 0] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`ratelimit-${name}`)),
  );
  const spread = Math.min(MAX_PAUSE_MS, 1000 * (seconds + 1), (4000 * seconds) / (left + 1));
  paceMs = 2 * left >= limit ? SEND_EVERY_MS : Math.max(SEND_EVERY_MS, spread);
}

/** The answer of a request: a session, or what was appended. */
export interface Answer {
  readonly id: string;
  readonly htmlUrl: string;
  readonly state?: { readonly current: string };
  /** What has arrived of its transcript; undefined of a gateway of 1.0. */
  readonly files?: readonly ArrivedFile[];
  readonly events?: number;
  readonly repeatedLines?: number;
}

function filesIn(text: string): readonly ArrivedFile[] | undefined {
  try {
    return (JSON.parse(text) as { details?: { files?: readonly ArrivedFile[] } }).details?.files;
  } catch {
    return undefined;
  }
}

/** @throws Refusal, or Problem when sending again can help */
export async function post(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  method = 'POST',
): Promise<Answer> {
  const { status, headers: answered, text } = await answerOf(path, body, headers, method);
  keepPace(answered);
  if (status >= 200 && status < 300) {
    return JSON.parse(text) as Answer;
  }
  const message = messageIn(text);
  if (status === 408 || status === 429 || status >= 500)
    throw new Problem(
      `the gateway answered ${status}: ${message}`,
      Number(answered.get('retry-after')) * 1000 || undefined,
    );
  throw new Refusal(status, message, filesIn(text));
}

/** @throws Problem, or Refusal when the login has ended */
export async function answerOf(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  method: string,
) {
  const response = await requested(path, () => ({
    method,
    body,
    headers,
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  }));
  try {
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    throw new Problem(reasonOf(error));
  }
}

/** Sends a request, once more with a new token if that of the login has expired. */
async function requested(path: string, init: () => Omit<RequestInit, 'headers'> & { headers: Record<string, string> }) {
  if (KEY !== '') return send(KEY);
  const token = await accessToken(GATEWAY);
  const answer = await send(token);
  return answer.status === 401 ? send(await accessToken(GATEWAY, token)) : answer;

  async function send(credential: string) {
    const { headers, ...rest } = init();
    try {
      return await fetch(`${GATEWAY}${path}`, {
        ...rest,
        headers: { Authorization: `Bearer ${credential}`, ...headers },
      });
    } catch (error) {
      throw new Problem(reasonOf(error));
    }
  }
}

/** The body of an answer, of any length. @throws Refusal, or Problem without an answer */
export async function download(path: string): Promise<AsyncIterable<Uint8Array>> {
  const response = await requested(path, () => ({ headers: {} }));
  if (response.ok && response.body) return response.body;
  const text = await response.text();
  throw new Refusal(response.status, messageIn(text));
}

export async function getJson<Body>(path: string): Promise<Body> {
  const chunks = [];
  for await (const chunk of await download(path)) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as Body;
}

const messageIn = (text: string) => /"error":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text.slice(0, 200);

export const postJson = (path: string, body: object, key: string) =>
  post(path, JSON.stringify(body), { 'Content-Type': 'application/json', 'Idempotency-Key': key });

/** Creates the session that an agent has, or finds it. */
export const ensureSession = (agent: string, sourceId: string, body: object) =>
  post(
    `/v1/sessions/by-source/${encodeURIComponent(agent)}/${encodeURIComponent(sourceId)}`,
    JSON.stringify(body),
    { 'Content-Type': 'application/json' },
    'PUT',
  );

export const isConflict = (error: unknown): error is Refusal => error instanceof Refusal && error.status === 409;

const NO_SESSION = '00000000-0000-0000-0000-000000000000';

/** Asks the gateway once whether it takes recordings. @throws Refusal, or Problem without an answer */
export async function requireAccepted() {
  const headers = { 'Content-Type': 'application/json' };
  await post(`/v1/sessions/${NO_SESSION}/transition`, '{"state":"inProgress"}', headers).catch((error: unknown) => {
    // There is no such session, which only a caller that can record is told.
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
  });
}
