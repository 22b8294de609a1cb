/** Signing in without a key: the device flow (RFC 8628). */

import { parseArgs } from 'node:util';
import { baseOf, GATEWAY, LOGINS, say, textOf, UsageError } from './common.ts';
import { Problem } from './failures.ts';
import { answerTo, deleteLogin, postForm, readLogin, tokensOf, writeLogin } from './logins.ts';

const CLIENT_ID = 'workspace-recorder';
const RECORDING = '/v1/sessions';
const SCOPES = ['sessions.record', 'sessions.read'];
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
/** The interval where the server names none, and by how much it grows (RFC 8628, section 3.5). */
const INTERVAL_SECONDS = 5;

/** Waits for some milliseconds. */
export type Wait = (ms: number) => Promise<unknown>;

const wait: Wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function runLogin(args: string[]) {
  const gateway = addressIn(args);
  const server = await discover(gateway);
  const login = await signIn(gateway, server, wait);
  writeLogin(login);
  say(`signed in to ${gateway}; the login is stored in ${LOGINS}`);
}

export async function runLogout(args: string[]) {
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

/** The gateway that is named, else that of the variable or of the only login. */
function addressIn(args: string[]) {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const gateway = baseOf(positionals[0] ?? GATEWAY);
  if (positionals.length > 1 || !/^https?:\/\/./.test(gateway) || !URL.canParse(gateway))
    throw new UsageError('name the address of the gateway: node record.mjs login https://gateway.example');
  return gateway;
}

export interface Server {
  resource: string;
  deviceEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
  hasOfflineAccess: boolean;
}

/** Reads the metadata of the gateway and of its authorization server (RFC 9728, RFC 8414). */
async function discover(gateway: string): Promise<Server> {
  const resource = gateway + RECORDING;
  const { status, answer } = await answerTo(`${gateway}/.well-known/oauth-protected-resource${RECORDING}`);
  if (status !== 200) throw new Error(`${gateway} has no sign-in for the recorder (status ${status})`);
  // Another gateway could ask for a token of this one.
  if (answer['resource'] !== resource)
    throw new Error(
      `the gateway calls itself ${memberOf(answer, 'resource').replace(RECORDING, '')}: sign in to that address`,
    );
  const [issuer] = (answer['authorization_servers'] ?? []) as unknown[];
  const server: Readonly<Record<string, unknown>> = typeof issuer === 'string' ? await serverOf(issuer) : {};
  const [deviceEndpoint, tokenEndpoint] = [
    memberOf(server, 'device_authorization_endpoint'),
    memberOf(server, 'token_endpoint'),
  ];
  if (deviceEndpoint === '' || tokenEndpoint === '')
    throw new Error('the authorization server of the gateway has no sign-in for devices');
  const scopes = (server['scopes_supported'] ?? []) as unknown[];
  return {
    resource,
    deviceEndpoint,
    tokenEndpoint,
    revocationEndpoint: memberOf(server, 'revocation_endpoint') || undefined,
    hasOfflineAccess: scopes.includes('offline_access'),
  };
}

async function serverOf(issuer: string) {
  const { answer } = await answerTo(`${baseOf(issuer)}/.well-known/oauth-authorization-server`);
  if (answer['issuer'] !== issuer) throw new Error(`the authorization server ${issuer} has no valid metadata`);
  return answer;
}

function memberOf(answer: Readonly<Record<string, unknown>>, name: string) {
  const value = answer[name];
  return typeof value === 'string' ? value : '';
}

/** Shows the code and waits for the consent. */
export async function signIn(gateway: string, server: Server, pause: Wait) {
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
  return { gateway, clientId: CLIENT_ID, resource, tokenEndpoint, revocationEndpoint, since: Date.now(), ...tokens };
}

async function poll(
  tokenEndpoint: string,
  form: Record<string, string>,
  { interval, expires_in: lifetime }: Readonly<Record<string, unknown>>,
  pause: Wait,
) {
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

function reasonIn(answer: Readonly<Record<string, unknown>>, status: number) {
  return memberOf(answer, 'error_description') || memberOf(answer, 'error') || `status ${status}`;
}
