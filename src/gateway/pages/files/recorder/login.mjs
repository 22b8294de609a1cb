/** Signing in without a key: the device flow (RFC 8628). */

import { parseArgs } from 'node:util';
import { baseOf, GATEWAY, LOGINS, say, textOf, UsageError } from './common.mjs';
import { Problem } from './failures.mjs';
import { answerTo, deleteLogin, postForm, readLogin, tokensOf, writeLogin } from './logins.mjs';

const CLIENT_ID = 'workspace-recorder';
const RECORDING = '/v1/sessions';
const SCOPES = ['sessions.record', 'sessions.read'];
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
/** The interval where the server names none, and by how much it grows (RFC 8628, section 3.5). */
const INTERVAL_SECONDS = 5;

/** Waits for some milliseconds. @typedef {(ms: number) => Promise<unknown>} Wait */

/** @type {Wait} */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {string[]} args */
export async function runLogin(args) {
  const gateway = addressIn(args);
  const server = await discover(gateway);
  const login = await signIn(gateway, server, wait);
  writeLogin(login);
  say(`signed in to ${gateway}; the login is stored in ${LOGINS}`);
}

/** @param {string[]} args */
export async function runLogout(args) {
  const gateway = addressIn(args);
  const login = readLogin(gateway);
  if (!login) throw new UsageError(`there is no login at ${gateway}`);
  const { revocationEndpoint, clientId, refreshToken, accessToken } = login;
  deleteLogin(gateway);
  if (revocationEndpoint !== undefined)
    try {
      const token = refreshToken ?? accessToken;
      const { status } = await postForm(revocationEndpoint, { token, client_id: clientId });
      if (status !== 200) throw new Problem(`the gateway answered ${status}`);
    } catch (error) {
      throw new Error(
        `the login is deleted here, but not at the gateway, where the page of your profile ends it: ${textOf(error)}`,
        { cause: error },
      );
    }
  say(`signed out of ${gateway}`);
}

/** The gateway that is named, else that of the variable or of the only login. @param {string[]} args */
function addressIn(args) {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const gateway = baseOf(positionals[0] ?? GATEWAY);
  if (positionals.length > 1 || !/^https?:\/\/./.test(gateway) || !URL.canParse(gateway))
    throw new UsageError('name the address of the gateway: node record.mjs login https://gateway.example');
  return gateway;
}

/**
 * @typedef {object} Server
 * @property {string} resource
 * @property {string} deviceEndpoint
 * @property {string} tokenEndpoint
 * @property {string} [revocationEndpoint]
 * @property {boolean} hasOfflineAccess
 */

/** Reads the metadata of the gateway and of its authorization server (RFC 9728, RFC 8414). @param {string} gateway @returns {Promise<Server>} */
async function discover(gateway) {
  const resource = gateway + RECORDING;
  const { status, answer } = await answerTo(`${gateway}/.well-known/oauth-protected-resource${RECORDING}`);
  if (status !== 200) throw new Error(`${gateway} has no sign-in for the recorder (status ${status})`);
  // Another gateway could ask for a token of this one.
  if (answer['resource'] !== resource)
    throw new Error(
      `the gateway calls itself ${memberOf(answer, 'resource').replace(RECORDING, '')}: sign in to that address`,
    );
  const [issuer] = /** @type {unknown[]} */ (answer['authorization_servers'] ?? []);
  const server = typeof issuer === 'string' ? await serverOf(issuer) : {};
  const [deviceEndpoint, tokenEndpoint] = [
    memberOf(server, 'device_authorization_endpoint'),
    memberOf(server, 'token_endpoint'),
  ];
  if (deviceEndpoint === '' || tokenEndpoint === '')
    throw new Error('the authorization server of the gateway has no sign-in for devices');
  const scopes = /** @type {unknown[]} */ (server['scopes_supported'] ?? []);
  return {
    resource,
    deviceEndpoint,
    tokenEndpoint,
    revocationEndpoint: memberOf(server, 'revocation_endpoint') || undefined,
    hasOfflineAccess: scopes.includes('offline_access'),
  };
}

/** @param {string} issuer */
async function serverOf(issuer) {
  const { answer } = await answerTo(`${baseOf(issuer)}/.well-known/oauth-authorization-server`);
  if (answer['issuer'] !== issuer) throw new Error(`the authorization server ${issuer} has no valid metadata`);
  return answer;
}

/** @param {Readonly<Record<string, unknown>>} answer @param {string} name */
function memberOf(answer, name) {
  const value = answer[name];
  return typeof value === 'string' ? value : '';
}

/** Shows the code and waits for the consent. @param {string} gateway @param {Server} server @param {Wait} pause */
export async function signIn(gateway, server, pause) {
  const { resource, deviceEndpoint, tokenEndpoint, revocationEndpoint, hasOfflineAccess } = server;
  const scope = [...SCOPES, ...(hasOfflineAccess ? ['offline_access'] : [])].join(' ');
  const { status, answer } = await postForm(deviceEndpoint, { client_id: CLIENT_ID, scope, resource });
  const deviceCode = memberOf(answer, 'device_code');
  if (status !== 200 || deviceCode === '') throw new Error(`the sign-in was refused: ${reasonIn(answer, status)}`);
  say(`open ${memberOf(answer, 'verification_uri')} and enter the code ${memberOf(answer, 'user_code')}`);
  const complete = memberOf(answer, 'verification_uri_complete');
  if (complete !== '') say(`or open ${complete}`);
  say('waiting for the consent');
  const form = { grant_type: GRANT_TYPE, device_code: deviceCode, client_id: CLIENT_ID, resource };
  const tokens = await poll(tokenEndpoint, form, answer, pause);
  return { gateway, clientId: CLIENT_ID, resource, tokenEndpoint, revocationEndpoint, ...tokens };
}

/** @param {string} tokenEndpoint @param {Record<string, string>} form @param {Readonly<Record<string, unknown>>} device @param {Wait} pause */
async function poll(tokenEndpoint, form, { interval, expires_in: lifetime }, pause) {
  let seconds = typeof interval === 'number' ? interval : INTERVAL_SECONDS;
  for (let left = typeof lifetime === 'number' ? lifetime : 600; left > 0; left -= Math.max(seconds, 1)) {
    await pause(1000 * seconds);
    // A gateway that restarts is asked again later.
    const { status, answer } = await postForm(tokenEndpoint, form).catch(() => ({ status: 503, answer: {} }));
    if (status === 200) return tokensOf(answer);
    const error = memberOf(answer, 'error');
    if (error === 'access_denied') throw new Error('the consent was refused');
    if (error === 'expired_token') break;
    if (error === 'slow_down' || status >= 500 || status === 429) seconds += INTERVAL_SECONDS;
    else if (error !== 'authorization_pending') throw new Error(`the sign-in failed: ${reasonIn(answer, status)}`);
  }
  throw new Error('the code has expired; start again');
}

/** @param {Readonly<Record<string, unknown>>} answer @param {number} status */
function reasonIn(answer, status) {
  return memberOf(answer, 'error_description') || memberOf(answer, 'error') || `status ${status}`;
}
