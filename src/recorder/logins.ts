/** What `login` has stored, by which the recorder works without a key. */

import * as fs from 'node:fs';
import { LOGINS, loginFile, textOf } from './common.ts';
import { REQUEST_TIMEOUT_MS } from './limits.ts';
import { Problem, reasonOf, Refusal } from './failures.ts';

/** How long before its end a token is refreshed, at most. */
const REFRESH_BEFORE_MS = 60_000;
/** A lock this old was left by a process that was killed. */
const LOCK_MS = 2 * REQUEST_TIMEOUT_MS;
const LOCK_POLL_MS = 100;

const ENDED = 'the login has ended; sign in again with: node record.mjs login';

export interface Login {
  gateway: string;
  clientId: string;
  resource: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  accessToken: string;
  refreshToken?: string;
  /** in milliseconds since 1970 */
  refreshAt: number;
  /** When the person has signed in; undefined of a login of 1.0. */
  since?: number;
}

export function readLogin(gateway: string): Login | undefined {
  try {
    const login: Login = JSON.parse(fs.readFileSync(loginFile(gateway), 'utf8'));
    return login;
  } catch {
    return undefined;
  }
}

/** Only the person can read it. */
export function writeLogin(login: Login) {
  const file = loginFile(login.gateway);
  fs.mkdirSync(LOGINS, { recursive: true, mode: 0o700 });
  fs.chmodSync(LOGINS, 0o700);
  const written = `${file}.${process.pid}.new`;
  fs.writeFileSync(written, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(written, file);
}

export function deleteLogin(gateway: string) {
  fs.rmSync(loginFile(gateway), { force: true });
}

/** The access token at a gateway, which is refreshed before it expires. Of several recorders one does it, and the others read what it has stored. @param refused the token that the gateway has refused @throws Problem, or Refusal when the login has ended */
export async function accessToken(gateway: string, refused?: string) {
  const isUsable = (login: Login) =>
    refused === undefined ? Date.now() < login.refreshAt : login.accessToken !== refused;
  const stored = requireLogin(readLogin(gateway));
  if (isUsable(stored)) return stored.accessToken;
  return withLock(`${loginFile(gateway)}.lock`, async () => {
    const login = requireLogin(readLogin(gateway));
    return isUsable(login) ? login.accessToken : refresh(login);
  });
}

function requireLogin(login: Login | undefined): Login {
  if (!login) throw new Refusal(401, ENDED);
  return login;
}

async function refresh(login: Login) {
  const { gateway, clientId, resource, tokenEndpoint, refreshToken = '' } = login;
  const { status, answer } = await postForm(tokenEndpoint, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: clientId,
    resource,
  });
  if (answer['error'] === 'invalid_grant') {
    deleteLogin(gateway);
    throw new Refusal(status, ENDED);
  }
  if (status !== 200) throw new Problem(`the login could not be refreshed: the gateway answered ${status}`);
  const refreshed = { ...login, ...tokensOf(answer) };
  writeLogin(refreshed);
  return refreshed.accessToken;
}

/** The tokens of an answer; a refresh token that is not repeated stays. */
export function tokensOf(answer: Readonly<Record<string, unknown>>) {
  const { access_token: token, refresh_token: refreshToken, expires_in: seconds } = answer;
  if (typeof token !== 'string') throw new Problem('the answer of the authorization server has no access token');
  const lifetimeMs = 1000 * (typeof seconds === 'number' ? seconds : 3600);
  return {
    accessToken: token,
    refreshAt: Date.now() + lifetimeMs - Math.min(REFRESH_BEFORE_MS, lifetimeMs / 2),
    ...(typeof refreshToken === 'string' && { refreshToken }),
  };
}

/** @throws Problem without an answer */
export async function postForm(url: string, form: Record<string, string>) {
  return answerTo(url, { method: 'POST', body: new URLSearchParams(form) });
}

/** @throws Problem without an answer */
export async function answerTo(url: string, init?: RequestInit) {
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...init,
    });
    const answer: Record<string, unknown> = await response.json().catch(() => ({}));
    return { status: response.status, answer: answer ?? {} };
  } catch (error) {
    throw new Problem(reasonOf(error));
  }
}

/** Two processes that take the same old lock away both refresh, and get the same answer. */
async function withLock<Result>(lock: string, work: () => Promise<Result>): Promise<Result> {
  while (!takesLock(lock)) {
    const age = Date.now() - (fs.statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (age > LOCK_MS) fs.rmSync(lock, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
  try {
    return await work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

/** @returns whether this process has the lock now */
function takesLock(lock: string) {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw new Problem(`the login could not be refreshed: ${textOf(error)}`);
  }
}
