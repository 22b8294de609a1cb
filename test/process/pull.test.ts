import { appendFile, mkdir, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, linesOf } from '../support/processes/recorder.ts';

/** A session that was recorded on one machine goes on at another one. */

let gateway: ServedGateway;
let account: Awaited<ReturnType<ServedGateway['createKey']>>;
let homes: { readonly home: string; readonly project: string }[];
beforeAll(async () => {
  gateway = await startServedGateway({ RATE_LIMIT_PER_MINUTE: '0' });
});
afterAll(() => gateway.close());
afterEach(endProcesses);
beforeEach(async () => {
  account = await gateway.createKey();
  homes = [];
  for (const folder of ['work', 'other place']) {
    const home = await realpath(await temporaryDirectory());
    const project = join(home, folder, 'shop');
    await mkdir(project, { recursive: true });
    homes.push({ home, project });
  }
});

async function record(at: number, args: readonly string[], key = account.key) {
  const { home = '', project = '' } = homes[at] ?? {};
  const env = { GATEWAY: gateway.url, KEY: key, HOME: home, CLAUDE_CONFIG_DIR: '', CODEX_HOME: '' };
  const { child, output, exited } = start([...RECORD, ...args], env, { cwd: project });
  child.stdin.end();
  return { code: await exited, ...output };
}

const ID = '7deb9c4a-fc75-4bd9-a319-8c300bf99c69';
const SECRET = `ghp_${'a1B2c3D4'.repeat(4)}e5F6`;
const textOf = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const folderOf = (path: string) => path.replaceAll(/[^A-Za-z0-9]/g, '-');
const claudeLines = (project: string) => [
  { type: 'last-prompt', cwd: project },
  { type: 'user', uuid: 'a', cwd: project, message: { role: 'user', content: `Fix ${project}/src, not ${project}s` } },
  { type: 'user', uuid: 'b', cwd: project, message: { role: 'user', content: SECRET } },
];
const more = (uuid: string) => textOf([{ type: 'user', uuid, message: { role: 'user', content: uuid } }]);

interface Listed {
  readonly id: string;
  readonly title: string;
}
async function sessions(key = account.key) {
  return (await gateway.rest<{ items: readonly Listed[] }>('GET', '/v1/sessions', { key })).body.items;
}

async function recordClaude(...args: readonly string[]): Promise<string> {
  const { home = '', project = '' } = homes[0] ?? {};
  const file = join(home, '.claude/projects', folderOf(project), `${ID}.jsonl`);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, textOf(claudeLines(project)));
  await record(0, ['sync', ...args]);
  return (await sessions())[0]?.id ?? '';
}

test('a session of Claude Code goes on in another home and folder: one session, each line once; redacted texts stay redacted', async () => {
  const id = await recordClaude();
  const { home = '', project = '' } = homes[1] ?? {};
  expect((await record(1, ['pull'])).stdout).toMatch(new RegExp(`^${id} .* claude  Fix `));
  const pulled = await record(1, ['pull', id]);
  expect(pulled).toMatchObject({ code: 0, stdout: `cd '${project}' && claude --resume ${ID}\n` });
  const file = join(home, '.claude/projects', folderOf(project), `${ID}.jsonl`);
  const expected = textOf(claudeLines(project)).replace(`${project}s"`, `${homes[0]?.project}s"`);
  expect(await readFile(file, 'utf8')).toBe(expected.replace(SECRET, '[redacted]'));
  expect(await readdir(join(file, '..'))).toEqual([`${ID}.jsonl`]);
  await appendFile(file, more('c'));
  expect(await record(1, ['pull', id])).toMatchObject({ code: 1, stderr: expect.stringContaining('--force') });
  await record(1, ['sync']);
  expect(await sessions()).toHaveLength(1);
  const lines = await linesOf(gateway, account.key, id);
  expect(lines).toHaveLength(4);
  // Without what the recorder remembers, the gateway knows the lines as the pull wrote them.
  await rm(join(home, '.workspace-recorder'), { recursive: true });
  await appendFile(file, more('d'));
  await record(1, ['import', '--yes']);
  expect(await linesOf(gateway, account.key, id)).toEqual([...lines, more('d').trim()]);
  expect(await record(1, ['pull', id, '--force'])).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toBe(expected.replace(SECRET, '[redacted]') + more('c') + more('d'));
});

test('a session of Claude Code that goes on in two homes without a pull: each line once, no tokens and no cost twice', async () => {
  const id = await recordClaude();
  const answered = (uuid: string, tokens: number) => {
    const usage = { input_tokens: 100, output_tokens: 10 };
    const message = { id: `m-${uuid}`, role: 'assistant', model: 'x', content: [], usage };
    const modelUsage = { x: { inputTokens: tokens, outputTokens: tokens / 10, costUSD: tokens / 1e4 } };
    return [
      { type: 'assistant', uuid, message },
      { type: 'cost-state', totalCostUSD: tokens / 1e4, modelUsage },
    ];
  };
  const files = homes.map(({ home, project }) => join(home, '.claude/projects', folderOf(project), `${ID}.jsonl`));
  await mkdir(join(files[1] ?? '', '..'), { recursive: true });
  await writeFile(files[1] ?? '', textOf(claudeLines(homes[0]?.project ?? '')));
  for (const [at, uuid, tokens] of [
    [0, 'c', 100],
    [1, 'd', 100],
    [0, 'e', 200],
    [1, 'f', 200],
    [1, 'g', 300],
    [0, 'h', 300],
  ] as const) {
    await appendFile(files[at] ?? '', textOf(answered(uuid, tokens)));
    expect(await record(at, ['sync'])).toMatchObject({ code: 0 });
  }
  expect(await sessions()).toHaveLength(1);
  const stored = (await linesOf(gateway, account.key, id)).filter((line) => line.includes('uuid'));
  expect(stored.map((line) => (JSON.parse(line) as { uuid: string }).uuid)).toEqual([
    'a',
    'b',
    'c',
    'd',
    'e',
    'f',
    'g',
    'h',
  ]);
  const { body } = await gateway.rest<object>('GET', `/v1/sessions/${id}/usage`, { key: account.key });
  expect(body).toMatchObject({ inputTokens: 600, outputTokens: 60, costUsd: 0.03 });
});

test("somebody else's session goes on as one of one's own, and stays as it is", async () => {
  const id = await recordClaude('--public');
  const { home = '', project = '' } = homes[1] ?? {};
  const { key } = await gateway.createKey({ organization: account.organization, role: 'member' });
  expect(await record(1, ['pull', id], key)).toMatchObject({ code: 0 });
  expect(await sessions(key)).toHaveLength(1);
  const file = join(home, '.claude/projects', folderOf(project), `${ID}.jsonl`);
  await appendFile(file, more('c'));
  await record(1, ['sync'], key);
  const own = (await sessions(key)).find((each) => each.id !== id)?.id ?? '';
  expect(await linesOf(gateway, key, own)).toHaveLength(4);
  expect(await linesOf(gateway, account.key, id)).toHaveLength(3);
  const query = 'query ($id: ID!) { session(id: $id) { continuedFrom { databaseId } } }';
  const found = await gateway.graphql<object>(key, query, { id: own });
  expect(found.data).toEqual({ session: { continuedFrom: { databaseId: id } } });
});

test('a rollout of Codex is written where Codex looks for it, unless it has one of that id', async () => {
  const [from, to] = homes;
  const name = `rollout-2026-11-27T20-52-36-${ID}.jsonl`;
  const path = (home = '') => join(home, '.codex/sessions/2026/11/27', name);
  const head = (cwd = '') =>
    textOf([
      { type: 'session_meta', payload: { id: ID, cwd } },
      { type: 'turn_context', payload: { cwd } },
    ]);
  await mkdir(join(path(from?.home), '..'), { recursive: true });
  await writeFile(path(from?.home), head(from?.project));
  await record(0, ['sync']);
  const id = (await sessions())[0]?.id ?? '';
  const into = join(to?.home ?? '', 'into');
  expect((await record(1, ['pull', id, '--into', into])).stdout).toBe(`cd ${into} && codex resume ${ID}\n`);
  expect(await readFile(path(to?.home), 'utf8')).toBe(head(into));
  await appendFile(path(to?.home), '{"type":"event_msg","payload":{}}\n');
  await record(1, ['sync']);
  expect(await linesOf(gateway, account.key, id)).toHaveLength(3);
  await rm(path(to?.home));
  await writeFile(`${path(to?.home)}.zst`, '');
  expect(await record(1, ['pull', id, '--force'])).toMatchObject({ code: 1, stderr: expect.stringContaining('.zst') });
});
