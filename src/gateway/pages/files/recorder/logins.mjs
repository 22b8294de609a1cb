/** What `login` has stored, by which the recorder works without a key. */

import * as fs from 'node:fs';
import { LOGINS, loginFile, REQUEST_TIMEOUT_MS, textOf } from './common.mjs';
import { Problem, reasonOf, Refusal } from './failures.mjs';

/** How long before its end a token is refreshed, at most. */
const REFRESH_BEFORE_MS = 60_000;
/** A lock this old was left by a process that was killed. */
const LOCK_MS = 2 * REQUEST_TIMEOUT_MS;
const LOCK_POLL_MS = 100;

const ENDED = 'the login has ended; sign in again with: node record.mjs login';

/**
 * @typedef {object} Login
 * @property {string} gateway
 * @property {string} clientId
 * @property {string} resource
 * @property {string} tokenEndpoint
 * @property {string} [revocationEndpoint]
 * @property {string} accessToken
 * @property {string} [refreshToken]
 * @property {number} refreshAt in milliseconds since 1970
 */

/** @param {string} gateway @returns {Login | undefined} */
export function readLogin(gateway) {
  try {
    /** @type {Login} */
    const login = JSON.parse(fs.readFileSync(loginFile(gateway), 'utf8'));
    return login;
  } catch {
    return undefined;
  }
}

/** Only the person can read it. @param {Login} login */
export function writeLogin(login) {
  const file = loginFile(login.gateway);
  fs.mkdirSync(LOGINS, { recursive: true, mode: 0o700 });
  fs.chmodSync(LOGINS, 0o700);
  const written = `${file}.${process.pid}.new`;
  fs.writeFileSync(written, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(written, file);
}

/** @param {string} gateway */
export function deleteLogin(gateway) {
  fs.rmSync(loginFile(gateway), { force: true });
}

/**
 * The access token at a gateway, which is refreshed before it expires. Of several recorders one does it, and the others read what it has stored.
 * @param {string} gateway @param {string} [refused] the token that the gateway has refused @throws Problem, or Refusal when the login has ended
 */
export async function accessToken(gateway, refused) {
  const isUsable = (/** @type {Login} */ login) =>
    refused === undefined ? Date.now() < login.refreshAt : login.accessToken !== refused;
  const stored = requireLogin(readLogin(gateway));
  if (isUsable(stored)) return stored.accessToken;
  return withLock(`${loginFile(gateway)}.lock`, async () => {
    const login = requireLogin(readLogin(gateway));
    return isUsable(login) ? login.accessToken : refresh(login);
  });
}

/** @param {Login | undefined} login @returns {Login} */
function requireLogin(login) {
  if (!login) throw new Refusal(401, ENDED);
  return login;
}

/** @param {Login} login */
async function refresh(login) {
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

/** The tokens of an answer; a refresh token that is not repeated stays. @param {Readonly<Record<string, unknown>>} answer */
export function tokensOf(answer) {
  const { access_token: token, refresh_token: refreshToken, expires_in: seconds } = answer;
  if (typeof token !== 'string') throw new Problem('the answer of the authorization server has no access token');
  const lifetimeMs = 1000 * (typeof seconds === 'number' ? seconds : 3600);
  return {
    accessToken: token,
    refreshAt: Date.now() + lifetimeMs - Math.min(REFRESH_BEFORE_MS, lifetimeMs / 2),
    ...(typeof refreshToken === 'string' && { refreshToken }),
  };
}

/** @param {string} url @param {Record<string, string>} form @throws Problem without an answer */
export async function postForm(url, form) {
  return answerTo(url, { method: 'POST', body: new URLSearchParams(form) });
}

/** @param {string} url @param {RequestInit} [init] @throws Problem without an answer */
export async function answerTo(url, init) {
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...init,
    });
    /** @type {Record<string, unknown>} */
    const answer = await response.json().catch(() => ({}));
    return { status: response.status, answer: answer ?? {} };
  } catch (error) {
    throw new Problem(reasonOf(error));
  }
}

/**
 * Two processes that take the same old lock away both refresh, and get the same answer.
 * @template Result @param {string} lock @param {() => Promise<Result>} work @returns {Promise<Result>}
 */
async function withLock(lock, work) {
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

/** @param {string} lock @returns whether this process has the lock now */
function takesLock(lock) {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (/** @type {{ code?: string }} */ (error).code === 'EEXIST') return false;
    throw new Problem(`the login could not be refreshed: ${textOf(error)}`);
  }
}
