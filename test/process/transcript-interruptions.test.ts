import { existsSync } from 'node:fs';
import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, linesOf } from '../support/processes/recorder.ts';
import { type Account, saidLines, startRecord, startRelay, writeTranscript } from '../support/processes/transcripts.ts';

/** Whatever interrupts the sending of transcripts, no line is lost and none is there twice. */

let gateway: ServedGateway;
let account: Account;
beforeAll(async () => {
  gateway = await startServedGateway({ RATE_LIMIT_PER_MINUTE: '0' });
});
afterAll(() => gateway.close());
afterEach(endProcesses);
beforeEach(async () => {
  const { key } = await gateway.createKey();
  account = { home: await temporaryDirectory(), url: gateway.url, key };
});

const sync = async (by = account) => {
  const { output, exited } = startRecord(by, 'sync');
  return { code: await exited, ...output };
};
const asLines = (values: readonly object[]) => values.map((value) => JSON.stringify(value));

/** The lines of all sessions, by their titles. */
async function recorded(): Promise<Record<string, readonly string[]>> {
  const { key } = account;
  const { body } = await gateway.rest<{ items: { id: string; title: string }[] }>('GET', '/v1/sessions', { key });
  const found = body.items.map(async ({ id, title }) => [title, await linesOf(gateway, key, id)] as const);
  return Object.fromEntries(await Promise.all(found));
}

const always = () => Promise.resolve(true);
const isAppend = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === 'POST' && path.endsWith('/events');

const first = saidLines('a', 0, 40);
const more = saidLines('a', 40, 50);

test.each([
  ['goes on', [...first, ...more]],
  ['is compacted', [{ type: 'summary', summary: 'Compacted' }, ...first.slice(30), ...more]],
  ['is truncated', first.slice(0, 3)],
  ['is the same', first],
] as const)('a process that is killed before it has the answer: the file %s', async (_, next) => {
  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    account = { ...account, home: await temporaryDirectory(), key: (await gateway.createKey()).key };
    let armed: (() => void) | undefined;
    const relay = await startRelay(gateway.url, always, (request) => {
      if (!armed || !isAppend(request)) return Promise.resolve(true);
      armed();
      return Promise.resolve(false);
    });
    const through = { ...account, url: relay.url };
    await writeTranscript(account.home, 'a', first.slice(0, 10));
    expect(await sync(through)).toMatchObject({ code: 0 });
    await writeTranscript(account.home, 'a', first.slice(10), true);
    const killed = startRecord(through, 'sync');
    armed = () => void killed.child.kill(signal);
    await killed.exited;
    armed = undefined;
    await writeTranscript(account.home, 'a', next);
    expect(await sync(through)).toMatchObject({ code: 0 });
    const expected = [...new Set([...asLines(first), ...asLines(next)])];
    expect((await recorded())['a 0']?.toSorted()).toEqual(expected.toSorted());
    relay.close();
  }
});

test('a batch that never reached the gateway is sent by the next process', async () => {
  let isAway = true;
  let asked = () => {};
  const relay = await startRelay(
    gateway.url,
    (request) => {
      if (!isAway || !isAppend(request)) return Promise.resolve(true);
      asked();
      return Promise.resolve(false);
    },
    always,
  );
  const through = { ...account, url: relay.url };
  await writeTranscript(account.home, 'a', first);
  const killed = startRecord(through, 'sync');
  asked = () => void killed.child.kill('SIGKILL');
  await killed.exited;
  isAway = false;
  await writeTranscript(account.home, 'a', first.slice(35));
  await sync(through);
  expect((await recorded())['a 0']).toEqual(asLines(first));
  relay.close();
});

test('several processes at once send each line once, and what changes meanwhile is sent by one of them', async () => {
  const names = ['a', 'b', 'c'];
  for (const name of names) await writeTranscript(account.home, name, saidLines(name, 0, 20));
  const running = Array.from({ length: 4 }, () => sync());
  for (const name of names) await writeTranscript(account.home, name, saidLines(name, 20, 30), true);
  const last = await Promise.all([...running, sync(), sync()]);
  expect(last.map(({ code, stderr }) => [code, stderr])).toEqual(last.map(() => [0, '']));
  expect(await recorded()).toEqual(
    Object.fromEntries(names.map((name) => [`${name} 0`, asLines(saidLines(name, 0, 30))])),
  );
  expect(existsSync(join(account.home, '.workspace-recorder', 'sync.lock'))).toBe(false);
});

test('a lock that nobody has touched for long holds nobody up, even if another program has its process id now', async () => {
  const base = join(account.home, '.workspace-recorder');
  await mkdir(base);
  await writeFile(join(base, 'sync.lock'), String(process.pid));
  await writeTranscript(account.home, 'a', first);
  await sync();
  expect(await recorded()).toEqual({});
  const old = new Date(Date.now() - 3_600_000);
  await utimes(join(base, 'sync.lock'), old, old);
  await sync();
  expect(await recorded()).toEqual({ 'a 0': asLines(first) });
});

test('a transcript that is refused does not hold up the others, and is tried again', async () => {
  let isRefused = true;
  const before = ({ path }: { readonly path: string }) =>
    Promise.resolve(isRefused && path.endsWith('/by-source/claude/a') ? 400 : true);
  const relay = await startRelay(gateway.url, before, always);
  const through = { ...account, url: relay.url };
  for (const name of ['a', 'b']) await writeTranscript(account.home, name, saidLines(name, 0, 3));
  expect(await sync(through)).toMatchObject({ code: 1, stderr: expect.stringMatching(/a\.jsonl is not sent: .*400/) });
  expect(Object.keys(await recorded())).toEqual(['b 0']);
  isRefused = false;
  expect(await sync(through)).toMatchObject({ code: 0 });
  expect(Object.keys(await recorded()).toSorted()).toEqual(['a 0', 'b 0']);
  relay.close();
});

test('the hook ends while the gateway has not answered, and what it has started goes on', async () => {
  const answer = Promise.withResolvers<boolean>();
  const asked = Promise.withResolvers<void>();
  const relay = await startRelay(
    gateway.url,
    ({ path }) => {
      // `install` asks once.
      if (path.endsWith('/transition')) return always();
      asked.resolve();
      return answer.promise;
    },
    always,
  );
  const through = { ...account, url: relay.url };
  await mkdir(join(account.home, '.claude'));
  await startRecord(through, 'install', '--yes').exited;
  const settings = await readFile(join(account.home, '.claude', 'settings.json'), 'utf8');
  const command = /"command": ("(?:[^"\\]|\\.)*")/.exec(settings)?.[1] ?? '""';
  await writeTranscript(account.home, 'a', first);
  const env = { HOME: account.home };
  const hook = start(['sh', '-c', JSON.parse(command) as string], env);
  expect([await hook.exited, hook.output]).toEqual([0, { stdout: '', stderr: '' }]);
  await asked.promise;
  const others = Array.from({ length: 20 }, () => start(['sh', '-c', JSON.parse(command) as string], env));
  expect(await Promise.all(others.map(({ exited }) => exited))).toEqual(others.map(() => 0));
  answer.resolve(true);
  await expect.poll(recorded).toEqual({ 'a 0': asLines(first) });
  await expect.poll(() => existsSync(join(account.home, '.workspace-recorder', 'sync.lock'))).toBe(false);
  relay.close();
});

test('a sync of nothing new opens no transcript', async () => {
  for (const name of ['a', 'agent-b', 'c'])
    await writeTranscript(account.home, name, [...saidLines(name, 0, 3), { sessionId: name }]);
  await sync();
  const count = join(account.home, 'count.cjs');
  await writeFile(
    count,
    `const fs = require('node:fs'); const { openSync } = fs; let opened = 0;
fs.openSync = (path, ...rest) => { if (/jsonl$/.test(path)) opened += 1; return openSync(path, ...rest); };
require('node:module').syncBuiltinESMExports(); process.on('exit', () => console.error(opened + ' opened'));`,
  );
  const { home, key, url } = account;
  const counted = async () => {
    const { child, output, exited } = start([...RECORD, 'sync'], {
      GATEWAY: url,
      KEY: key,
      HOME: home,
      NODE_OPTIONS: `--require ${count}`,
    });
    child.stdin.end();
    await exited;
    return output.stderr;
  };
  expect(await counted()).toBe('0 opened\n');
  await writeTranscript(home, 'a', saidLines('a', 3, 4), true);
  expect(await counted()).toMatch(/^[1-9]\d* opened\n$/);
});
