import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { signIn } from '../../../src/recorder/login.ts';
import { Listener } from '../../support/peers/listener.ts';
import { cli, start } from '../../support/processes/process.ts';
import { RECORD } from '../../support/processes/recorder.ts';

/** `record.mjs login` at a server that answers as the test says. */

const STORED = 'workspace-gateway';

let server: Listener;
let folder: string;
/** The answers of the token endpoint, by grant type. The last one is repeated. */
let tokenAnswers: Record<string, [status: number, answer: object][]>;
/** What was sent to the endpoints of the authorization server. */
let sent: Record<string, string>[];
/** The tokens that the API accepts, and those that it got. */
let accepted: Set<string>;
let presented: string[];

const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const tokens = (name: string, expiresIn = 3600) => ({
  access_token: `wgo_${name}`,
  refresh_token: `wgr_${name}`,
  expires_in: expiresIn,
  token_type: 'Bearer',
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recorder-login-'));
  [tokenAnswers, sent, accepted, presented] = [{}, [], new Set(), []];
  server = await new Listener().start();
  server.handler = (request, response) => void answer(request, response);
});
afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const documents = (): Record<string, object> => ({
  '/.well-known/oauth-protected-resource/v1/sessions': {
    resource: `${server.url}/v1/sessions`,
    authorization_servers: [server.url],
  },
  '/.well-known/oauth-authorization-server': {
    issuer: server.url,
    token_endpoint: `${server.url}/oauth/token`,
    device_authorization_endpoint: `${server.url}/oauth/device/auth`,
    revocation_endpoint: `${server.url}/oauth/token/revocation`,
    scopes_supported: ['sessions.read', 'sessions.record', 'offline_access'],
  },
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '', headers } = request;
  const body = await text(request);
  const reply = (status: number, given: object = {}) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(given));
  const document = documents()[url];
  if (document) return void reply(200, document);
  if (url.startsWith('/v1/')) {
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    presented.push(token);
    return void reply(accepted.has(token) ? 201 : 401, { id: 'id', htmlUrl: 'url' });
  }
  const form = Object.fromEntries(new URLSearchParams(body));
  sent.push({ url, ...form });
  if (url === '/oauth/device/auth')
    return void reply(200, {
      device_code: 'device',
      user_code: 'ABCD-EFGH',
      verification_uri: `${server.url}/oauth/device`,
      verification_uri_complete: `${server.url}/oauth/device?user_code=ABCD-EFGH`,
      expires_in: 600,
      interval: 0,
    });
  if (url === '/oauth/token/revocation') return void reply(200);
  const answers = tokenAnswers[form['grant_type'] ?? ''] ?? [];
  reply(...((answers.length > 1 ? answers.shift() : answers[0]) ?? [500, {}]));
}

async function record(args: readonly string[], env: Record<string, string> = {}) {
  const { child, output, exited } = start([...RECORD, ...args], { XDG_CONFIG_HOME: folder, HOME: folder, ...env });
  child.stdin.end('a line\n');
  return { code: await exited, stderr: output.stderr, stdout: output.stdout };
}

const login = () => {
  tokenAnswers[DEVICE] = [[200, tokens('first')]];
  return record(['login', server.url]);
};
const stored = async () => {
  const [name = ''] = await readdir(join(folder, STORED));
  return JSON.parse(await readFile(join(folder, STORED, name), 'utf8')) as Record<string, unknown>;
};
/** What the recorder sends of a run without a key. */
const recordRun = () => record(['--wait', '0', '--format', 'auto', '--', 'cat']);

test('login shows the address and the code, waits for the consent, and stores the grant for the person alone', async () => {
  tokenAnswers[DEVICE] = [
    [400, { error: 'authorization_pending' }],
    [400, { error: 'authorization_pending' }],
    [200, tokens('first')],
  ];
  const { code, stderr } = await record(['login', `${server.url}/`]);
  expect([code, stderr]).toEqual([
    0,
    [
      `open ${server.url}/oauth/device and enter the code ABCD-EFGH`,
      `or open ${server.url}/oauth/device?user_code=ABCD-EFGH`,
      'waiting for the consent',
      `signed in to ${server.url}; the login is stored in ${join(folder, STORED)}`,
    ]
      .map((line) => `record: ${line}\n`)
      .join(''),
  ]);
  const [asked, ...polls] = sent;
  const resource = `${server.url}/v1/sessions`;
  const common = { client_id: 'workspace-recorder', resource };
  expect(asked).toEqual({
    ...common,
    url: '/oauth/device/auth',
    scope: 'sessions.record sessions.read offline_access',
  });
  expect(polls).toEqual(
    Array.from({ length: 3 }, () => ({ ...common, url: '/oauth/token', grant_type: DEVICE, device_code: 'device' })),
  );
  const [name = ''] = await readdir(join(folder, STORED));
  const modes = await Promise.all([stat(join(folder, STORED)), stat(join(folder, STORED, name))]);
  expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600]);
  expect(await stored()).toMatchObject({ accessToken: 'wgo_first', refreshToken: 'wgr_first', resource });
});

test('without KEY the recorder uses the login, also without GATEWAY; a key has precedence', async () => {
  await login();
  accepted.add('wgo_first').add('wgk_key');
  expect((await recordRun()).code).toBe(0);
  expect(new Set(presented)).toEqual(new Set(['wgo_first']));
  presented = [];
  await record(['--wait', '0', '--format', 'auto', '--', 'cat'], { GATEWAY: server.url, KEY: 'wgk_key' });
  expect(new Set(presented)).toEqual(new Set(['wgk_key']));
});

test('a token that expires within a minute, and one that is refused, are refreshed', async () => {
  tokenAnswers[DEVICE] = [[200, tokens('first', 0)]];
  await record(['login', server.url]);
  tokenAnswers['refresh_token'] = [
    [200, tokens('second')],
    [200, tokens('third')],
  ];
  accepted.add('wgo_second');
  await recordRun();
  expect(new Set(presented)).toEqual(new Set(['wgo_second']));
  accepted.clear();
  accepted.add('wgo_third');
  await recordRun();
  expect(await stored()).toMatchObject({ accessToken: 'wgo_third', refreshToken: 'wgr_third' });
  expect(sent.filter((form) => form['grant_type'] === 'refresh_token')).toEqual(
    ['wgr_first', 'wgr_second'].map((token) => ({
      url: '/oauth/token',
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: 'workspace-recorder',
      resource: `${server.url}/v1/sessions`,
    })),
  );
});

test('five recorders refresh once', async () => {
  await login();
  tokenAnswers['refresh_token'] = [
    [200, tokens('second')],
    [400, { error: 'invalid_grant' }],
  ];
  accepted.add('wgo_second');
  const runs = await Promise.all(Array.from({ length: 5 }, recordRun));
  expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  expect(sent.filter((form) => form['grant_type'] === 'refresh_token')).toHaveLength(1);
  expect(await readdir(join(folder, STORED))).toHaveLength(1);
});

test('a login that has ended is deleted, and the message says what to do', async () => {
  await login();
  tokenAnswers['refresh_token'] = [[400, { error: 'invalid_grant' }]];
  const { code, stdout, stderr } = await recordRun();
  expect([code, stdout]).toEqual([0, 'a line\n']);
  expect(stderr).toContain('the login has ended; sign in again with: node record.mjs login. Lines are only kept in ');
  expect(await readdir(join(folder, STORED))).toEqual([]);
});

test('a gateway that cannot refresh now is asked again later', async () => {
  await login();
  tokenAnswers['refresh_token'] = [[503, {}]];
  const { stderr } = await recordRun();
  expect(stderr).toContain('the login could not be refreshed: the gateway answered 503');
  expect(await stored()).toMatchObject({ refreshToken: 'wgr_first' });
});

test('logout revokes the grant and deletes the login', async () => {
  await login();
  sent = [];
  expect(await record(['logout'])).toMatchObject({ code: 0, stderr: `record: signed out of ${server.url}\n` });
  expect(sent).toEqual([{ url: '/oauth/token/revocation', token: 'wgr_first', client_id: 'workspace-recorder' }]);
  expect(await readdir(join(folder, STORED))).toEqual([]);
  expect(await record(['logout', server.url])).toMatchObject({ code: 2 });
});

test('the command line signs in and out for the recorder', async () => {
  tokenAnswers[DEVICE] = [[200, tokens('first')]];
  const env = { XDG_CONFIG_HOME: folder, HOME: folder };
  expect(await cli(['login', server.url], env)).toMatchObject({ code: 0, stdout: '' });
  accepted.add('wgo_first');
  await recordRun();
  expect(new Set(presented)).toEqual(new Set(['wgo_first']));
  expect(await cli(['logout'], env)).toMatchObject({ code: 0, stderr: `record: signed out of ${server.url}\n` });
  expect(await readdir(join(folder, STORED))).toEqual([]);
});

test.each([
  [[400, { error: 'access_denied' }], 'record: the consent was refused\n'],
  [[400, { error: 'expired_token' }], 'record: the code has expired; start again\n'],
  [[400, { error: 'invalid_client', error_description: 'no client' }], 'record: the sign-in failed: no client\n'],
] as const)('%j ends the login with a message, and nothing is stored', async (given, message) => {
  tokenAnswers[DEVICE] = [[given[0], given[1]]];
  const { code, stderr } = await record(['login', server.url]);
  expect(code).toBe(1);
  expect(stderr.endsWith(message)).toBe(true);
  expect(await readdir(folder)).toEqual([]);
});

test('a gateway that names another address as its resource gets no token', async () => {
  const { handler } = server;
  server.handler = (request, response) =>
    request.url?.includes('protected-resource')
      ? void response.end(
          JSON.stringify({ resource: 'https://other.example/v1/sessions', authorization_servers: [server.url] }),
        )
      : handler(request, response);
  const { code, stderr } = await record(['login', server.url]);
  expect([code, stderr]).toEqual([
    1,
    'record: the gateway calls itself https://other.example: sign in to that address\n',
  ]);
  expect(sent).toEqual([]);
});

test('the interval grows by five seconds when the server asks to slow down, and polling ends with the code', async () => {
  const pauses: number[] = [];
  const endpoints = {
    resource: `${server.url}/v1/sessions`,
    deviceEndpoint: `${server.url}/oauth/device/auth`,
    tokenEndpoint: `${server.url}/oauth/token`,
    hasOfflineAccess: false,
  };
  tokenAnswers[DEVICE] = [
    [400, { error: 'slow_down' }],
    [400, { error: 'authorization_pending' }],
    [400, { error: 'slow_down' }],
    [400, { error: 'authorization_pending' }],
  ];
  const pause = async (ms: number) => void pauses.push(ms / 1000);
  await expect(signIn(server.url, endpoints, pause)).rejects.toThrow('the code has expired; start again');
  expect(pauses.slice(0, 5)).toEqual([0, 5, 5, 10, 10]);
  expect(pauses.reduce((sum, seconds) => sum + seconds, 0)).toBeLessThanOrEqual(610);
});
