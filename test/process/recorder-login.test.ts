import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { decide, signedInBrowser } from '../support/fixtures/oauth-flow.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, recordedSession, sessionOf } from '../support/processes/recorder.ts';

/** The recorder with a login at the authorization server of a gateway. */

let gateway: ServedGateway;
let person: Awaited<ReturnType<ServedGateway['createKey']>>;
let folder: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  gateway.dependencies.address.url = gateway.url;
});
afterAll(() => gateway.close());
beforeEach(async () => {
  person = await gateway.createKey();
  folder = await temporaryDirectory();
});
afterEach(endProcesses);

async function record(args: readonly string[]) {
  const { child, output, exited } = start([...RECORD, ...args], { XDG_CONFIG_HOME: folder, HOME: folder });
  child.stdin.end('a line\n');
  return { code: await exited, stderr: output.stderr };
}
const recordRun = () => record(['--wait', '1', '--', 'cat']);

/** Signs in, as the person who reads the code and agrees in a browser. */
async function login(): Promise<void> {
  const { output, exited } = start([...RECORD, 'login', gateway.url], { XDG_CONFIG_HOME: folder, HOME: folder });
  await expect.poll(() => output.stderr, { interval: 50 }).toContain('waiting for the consent');
  const [, code = ''] = /enter the code (\S+)/.exec(output.stderr) ?? [];
  const jar = await signedInBrowser(gateway, person.key);
  const form = new URLSearchParams({ user_code: code });
  const page = await (await jar.open('/oauth/device', { method: 'POST', body: form })).text();
  expect((await decide(jar, '/oauth/device', page)).status).toBe(200);
  expect([await exited, output.stderr]).toEqual([0, expect.stringContaining(`signed in to ${gateway.url}`)]);
}

interface Apps {
  readonly items: readonly { readonly id: string; readonly resource: string; readonly scopes: readonly string[] }[];
}
const apps = async () => (await gateway.rest<Apps>('GET', '/v1/connected-apps', person)).body.items;

test('after a login the recorder records without a key, until the app is revoked', async () => {
  await login();
  const { code, stderr } = await recordRun();
  expect([code, await recordedSession(gateway, person.key, sessionOf(stderr))]).toMatchObject([
    0,
    { state: 'completed', lines: ['a line'] },
  ]);
  const [app] = await apps();
  expect(app).toMatchObject({ resource: `${gateway.url}/v1/sessions` });
  expect(app?.scopes.toSorted()).toEqual(['sessions.read', 'sessions.record']);
  expect((await gateway.rest('DELETE', `/v1/connected-apps/${app?.id}`, person)).status).toBe(204);
  const refused = await recordRun();
  expect([refused.code, refused.stderr]).toEqual([0, expect.stringContaining('the login has ended; sign in again')]);
});

test('five recorders at once go on after the token has expired', async () => {
  await login();
  const [name = ''] = await readdir(join(folder, 'workspace-gateway'));
  const file = join(folder, 'workspace-gateway', name);
  const before = JSON.parse(await readFile(file, 'utf8')) as { refreshToken: string };
  await writeFile(file, JSON.stringify({ ...before, refreshAt: 0 }));
  const runs = await Promise.all(Array.from({ length: 5 }, recordRun));
  for (const { stderr } of runs)
    expect((await recordedSession(gateway, person.key, sessionOf(stderr))).lines).toEqual(['a line']);
  expect(JSON.parse(await readFile(file, 'utf8'))).not.toMatchObject({ refreshToken: before.refreshToken });
  expect(await apps()).toHaveLength(1);
});

test('logout ends the grant', async () => {
  await login();
  expect(await record(['logout'])).toEqual({ code: 0, stderr: `record: signed out of ${gateway.url}\n` });
  expect(await apps()).toEqual([]);
});
