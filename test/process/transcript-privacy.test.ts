import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, temporaryDirectory } from '../support/processes/process.ts';
import { linesOf } from '../support/processes/recorder.ts';
import { type Account, asText, startRecord, startRelay, writeTranscript } from '../support/processes/transcripts.ts';

/** What of a person's machine is sent with transcripts, and what is left out. */

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

interface Listed {
  readonly id: string;
  readonly title: string;
  readonly branchName: string | null;
  readonly visibility: string;
  readonly project: { readonly name: string } | null;
}
const sessions = async () =>
  (await gateway.rest<{ items: readonly Listed[] }>('GET', '/v1/sessions?limit=100', { key: account.key })).body.items;
const record = async (...args: string[]) => {
  const { output, exited } = startRecord(account, ...args);
  return { code: await exited, ...output };
};
const said = (cwd: string, content: string, more: object = {}) => ({
  type: 'user',
  uuid: content,
  cwd,
  message: { role: 'user', content },
  ...more,
});
/** A folder with a repository whose remote is this one. */
async function repository(path: string, url: string): Promise<string> {
  await mkdir(join(path, '.git'), { recursive: true });
  await writeFile(join(path, '.git', 'config'), `[core]\n[remote "origin"]\n\turl = ${url}\n[branch "main"]\n`);
  return path;
}

test.each([
  ['https://ann:s3cret@git.example/acme/shop.git', 'shop'],
  ['https://ann:s3cret@git.example', 'work'],
  ['https://s3cret@git.example/', 'work'],
  ['https://git.example/acme/shop.git?token=s3cret', 'shop'],
  ['git@git.example:acme/shop.git', 'shop'],
  ['s3cret@git.example:shop', 'shop'],
  ['ssh://git:s3cret@git.example:22/shop', 'shop'],
  ['/srv/repositories/shop.git/', 'shop'],
])('the project is named after the remote %s, without its credentials', async (url, name) => {
  const folder = await repository(join(account.home, 'work'), url);
  await writeTranscript(account.home, 'a', [said(folder, 'x')]);
  await record('sync');
  const found = await sessions();
  expect(found.map(({ project }) => project?.name)).toEqual([name]);
  expect(JSON.stringify(found)).not.toContain('s3cret');
});

test('the path of the home folder is in no name, also where it is a link, and names are valid texts', async () => {
  const { home } = account;
  const link = `${home}-link`;
  await symlink(home, link);
  account = { ...account, home: link };
  const worktree = join(home, 'tree');
  await repository(join(home, 'main'), 'https://git.example/shop');
  await mkdir(join(home, 'main', '.git', 'worktrees', 'tree'), { recursive: true });
  await mkdir(worktree);
  await writeFile(join(worktree, '.git'), `gitdir: ${join(home, 'main', '.git', 'worktrees', 'tree')}\n`);
  await writeTranscript(home, 'a', [said(home, `Look at ${home}/x, ${link}/y and ${home}suffix/z`)]);
  await writeTranscript(home, 'b', [said(worktree, `${'x'.repeat(199)}😀 end`, { gitBranch: `${home}/branch` })]);
  await writeTranscript(home, 'c', [said(join(home, 'c'), 'A\u0000B\u0007 \ud800 C')]);
  expect(await record('sync')).toMatchObject({ code: 0, stderr: '' });
  const found = (await sessions()).map(({ title, branchName, project }) => [title, branchName, project?.name]);
  expect(found.toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1))).toEqual([
    ['A B  \uFFFD C', null, 'c'],
    [`Look at ~/x, ~/y and ${home}suffix/z`, null, undefined],
    [`${'x'.repeat(199)}\uFFFD`, '~/branch', 'shop'],
  ]);
});

test('left out: folders with the file, excluded ones, also through links and with a first line that is too long to be read', async () => {
  const { home } = account;
  const [open, ignored, excluded] = ['open', 'ignored', 'excluded'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [open, ignored, excluded]) await mkdir(join(folder, 'below'), { recursive: true });
  await writeFile(join(ignored, '.workspace-ignore'), '');
  await symlink(ignored, join(home, 'alias'));
  await symlink(excluded, join(home, 'other'));
  const long = 'x'.repeat(9 * 1024 * 1024);
  await writeTranscript(home, 'open', [said(join(open, 'below'), 'open')]);
  await writeTranscript(home, 'ignored', [said(join(ignored, 'below'), 'ignored')]);
  await writeTranscript(home, 'alias', [said(join(home, 'alias', 'below'), 'alias')]);
  await writeTranscript(home, 'long', [{ cwd: ignored, long }, said(ignored, 'long')]);
  await writeTranscript(home, 'excluded', [said(join(excluded, 'below'), 'excluded')]);
  await writeTranscript(home, 'other', [said(join(home, 'other'), 'other')]);
  await record('import', '--yes', '--exclude', '~/excluded');
  expect((await sessions()).map(({ title }) => title)).toEqual(['open']);
  expect((await sessions())[0]?.visibility).toBe('private');
});

test('--dry-run makes no request, of import nor of sync; --public and --since are kept', async () => {
  const requests: string[] = [];
  const relay = await startRelay(
    gateway.url,
    ({ method, path }) => Promise.resolve(requests.push(`${method} ${path}`) > 0),
    () => Promise.resolve(true),
  );
  account = { ...account, url: relay.url };
  await writeTranscript(account.home, 'a', [said('/srv/shop', 'a'), { key: `ghp_${'a1'.repeat(18)}` }]);
  const dry = /^record: 1 session, .*\nrecord: 2 lines; 1 possible credential, which the gateway replaces\n$/;
  for (const command of ['import', 'sync'])
    expect(await record(command, '--dry-run')).toEqual({ code: 0, stdout: '', stderr: expect.stringMatching(dry) });
  expect((await record('import', '--yes', '--since', '2100-01-01')).stderr).toContain('0 sessions');
  expect(requests).toEqual([]);
  await record('import', '--yes', '--public');
  const [found] = await sessions();
  expect(found?.visibility).toBe('public');
  expect(await linesOf(gateway, account.key, found?.id ?? '')).toEqual([
    JSON.stringify(said('/srv/shop', 'a')),
    '{"key":"[redacted]"}',
  ]);
  relay.close();
});

test('a hook keeps the options that it has, with the notification of Codex behind them', async () => {
  const folders = ['left-out', 'shop'].map((name) => join(account.home, name)) as [string, string];
  for (const folder of folders) await mkdir(folder);
  await writeTranscript(account.home, 'a', [said(folders[0], 'left out')]);
  await writeTranscript(account.home, 'b', [said(folders[1], 'sent')]);
  const spool = join(account.home, 'kept here');
  const options = ['--exclude', folders[0], '--public', '--spool', spool];
  expect((await record('sync', '--hook', ...options, '{"type":"agent-turn-complete"}')).code).toBe(0);
  await expect.poll(() => readFile(join(spool, 'transcripts.ndjson'), 'utf8').catch(() => '')).toContain('b.jsonl');
  expect((await sessions()).map(({ title, visibility }) => [title, visibility])).toEqual([['sent', 'public']]);
});

test('a transcript that was moved is not sent again, and goes on', async () => {
  const name = 'rollout-2026-11-27T20-52-36-7deb9c4a-fc75-4bd9-a319-8c300bf99c69.jsonl';
  const { home } = account;
  const folders = ['sessions', 'archived_sessions'].map((folder) => join(home, '.codex', folder)) as [string, string];
  for (const folder of folders) await mkdir(folder, { recursive: true });
  const [from, to] = folders.map((folder) => join(folder, name)) as [string, string];
  const lines = [said('/srv/shop', 'one'), said('/srv/shop', 'two'), said('/srv/shop', 'three')];
  const recorded = async () => linesOf(gateway, account.key, (await sessions())[0]?.id ?? '');
  await writeFile(from, asText(lines.slice(0, 1)));
  await record('sync');
  await writeFile(from, asText(lines.slice(0, 2)));
  await record('sync');
  await rename(from, to);
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  expect(await recorded()).toEqual(lines.slice(0, 2).map((line) => JSON.stringify(line)));
  await writeFile(to, asText(lines));
  await record('sync');
  expect(await recorded()).toEqual(lines.map((line) => JSON.stringify(line)));
});

test('lines of many MiB, with bytes that are no UTF-8, and with carriage returns are sent whole', async () => {
  const file = await writeTranscript(account.home, 'a', [said('/srv/shop', 'a')]);
  const parts = [4 * 1024 * 1024, 20 * 1024 * 1024].map((length) => Buffer.alloc(length, 'y'));
  const first = JSON.stringify(said('/srv/shop', 'a'));
  const odd = Buffer.from([0x78, 0xff, 0xfe, 0x79]);
  const line = Buffer.from('\n');
  await writeFile(
    file,
    Buffer.concat([Buffer.from(`${first}\r\n`), ...parts.flatMap((part) => [part, line]), odd, line]),
  );
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  const [found] = await sessions();
  const [head, ...rest] = await linesOf(gateway, account.key, found?.id ?? '');
  expect([head, rest.at(-1)]).toEqual([first, 'x\uFFFD\uFFFDy']);
  expect(rest.slice(0, -1).join('').length).toBe(24 * 1024 * 1024);
});
