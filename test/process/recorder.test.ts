import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { freePort } from '../support/processes/ports.ts';
import { RECORD, RECORDER, recordedSession, sessionOf, startRecorder } from '../support/processes/recorder.ts';

/** The recorder as people run it: a file, a key, and an agent, here a shell. */

let gateway: ServedGateway;
let key: string;
let readKey: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  const owner = await gateway.createKey();
  ({ key: readKey } = owner);
  const { email, organization } = owner;
  ({ key } = await gateway.createKey({ email, organization, scopes: ['sessions.record'] }));
});
afterAll(() => gateway.close());
afterEach(endProcesses);

const record = (args: readonly string[], env: Record<string, string> = {}) =>
  startRecorder(gateway.url, key, args, env);
const recorded = (stderr: string) => recordedSession(gateway, readKey, sessionOf(stderr));

let lines: readonly string[];
let text: string;
/** Each run has a thread of its own. */
function begin() {
  lines = AGENT_LINES.codex.map((line) => line.replace('th_1', randomUUID()));
  text = lines.map((line) => `${line}\n`).join('');
}
beforeEach(begin);
const ADDRESS = /^record: http:\/\/127\.0\.0\.1:\d+\/sessions\/[0-9a-f-]{36}\n$/;

test('the gateway serves the recorder without a key, in one file', async () => {
  const response = await gateway.fetch('/record.mjs');
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(await response.text()).toBe(await readFile(RECORDER, 'utf8'));
  expect(await readFile(RECORDER, 'utf8')).not.toMatch(/^export |from "(?!node:)/m);
});

test('an agent: its output is unchanged, its exit code is kept, and the session is failed or completed by it', async () => {
  for (const [code, state] of [
    [0, 'completed'],
    [3, 'failed'],
  ] as const) {
    begin();
    const { child, output, exited, spool } = await record([
      '--title',
      'A run',
      '--',
      'sh',
      '-c',
      `cat; echo aside >&2; exit ${code}`,
    ]);
    child.stdin.end(text);
    expect(await exited).toBe(code);
    expect(output.stdout).toBe(text);
    expect(output.stderr.replace('aside\n', '')).toMatch(ADDRESS);
    expect(await recorded(output.stderr)).toEqual({ title: 'A run', agent: 'codex', state, lines });
    expect(await readdir(spool)).toEqual([]);
  }
});

test('a pipe: the lines are passed on, and the session is completed at its end', async () => {
  const { child, output, exited } = await record([]);
  const bytes = Buffer.from(`${AGENT_LINES.gemini.join('\n')}\nno JSON, no line break`);
  child.stdin.end(bytes);
  expect(await exited).toBe(0);
  expect(output.stdout).toBe(bytes.toString());
  expect(await recorded(output.stderr)).toMatchObject({
    agent: 'gemini',
    state: 'completed',
    lines: [...AGENT_LINES.gemini, 'no JSON, no line break'],
  });
});

test('an agent that is not known: a table of members, also with names that are no ASCII, and a wrong one before the agent runs', async () => {
  const given = ['{"wer":"mensch","größe":{"a,b":"Warum?"}}', 'plain', '{"n":1}'];
  const { child, output, exited } = await record([
    '--map',
    'wer:mensch=user',
    '--map',
    'größe.a%2Cb=text',
    '--',
    'cat',
  ]);
  child.stdin.end(given.map((line) => `${line}\n`).join(''));
  expect(await exited).toBe(0);
  expect(await recorded(output.stderr)).toMatchObject({ agent: 'cat', lines: given });
  const path = `/v1/sessions/${sessionOf(output.stderr)}/export?format=markdown`;
  const answer = await gateway.fetch(path, { headers: { Authorization: `Bearer ${readKey}` } });
  expect(await answer.text()).toMatch(/## User\n\n> Warum\?\n\n## Agent\n\n> plain\n\n## System\n\n> \{"n":1\}/);
  for (const wrong of [
    ['--map', 'a=spoken'],
    ['--map', 'a'],
    ['--format', 'codex', '--map', 'a=text'],
  ]) {
    const refused = await record([...wrong, '--', 'sh', '-c', 'echo ran']);
    expect([await refused.exited, refused.output.stdout]).toEqual([2, '']);
    expect(refused.output.stderr).toContain('--map: ');
  }
});

test('the title is made of the agent and its prompt, never of options, their values and variables', async () => {
  const secret = 'kept0out0/of0titles';
  const folder = await temporaryDirectory();
  const agent = join(folder, 'codex');
  await writeFile(agent, '#!/bin/sh\nexec cat\n', { mode: 0o755 });
  const options = ['--api-key', secret, '--header', `Authorization: Bearer ${secret}`, `--token=${secret}`, '--json'];
  for (const [command, title] of [
    [['env', `API_KEY=${secret}`, agent, 'exec', ...options, 'Fix the test'], 'codex: Fix the test'],
    [['env', `API_KEY=${secret}`, agent, ...options], 'codex'],
    [[agent, '-p', 'Fix', '--api-key', secret], 'codex: Fix'],
    [['env', `API_KEY=${secret}`, 'sh', '-c', 'cat', secret, `of an unknown program ${secret}`], 'sh'],
  ] as const) {
    begin();
    const { child, output, exited } = await record(['--', ...command]);
    child.stdin.end(text);
    expect([await exited, (await recorded(output.stderr)).title]).toEqual([0, title]);
  }
});

test('a reader of standard output that goes away ends neither the agent nor the recording', async () => {
  const { child, output, exited } = await record(['--format', 'codex', '--', 'cat']);
  child.stdout.destroy();
  child.stdin.end(text);
  expect(await exited).toBe(0);
  expect((await recorded(output.stderr)).lines).toEqual(lines);
});

test('the agent gets the signals of the recorder, which ends with its exit code, or by its signal', async () => {
  for (const [handler, ended] of [
    [`trap 'echo bye; exit 7' TERM`, [7, null]],
    [`trap 'exit 0' TERM`, [0, null]],
    ['true', [null, 'SIGTERM']],
  ] as const) {
    const { child, output, exited } = await record([
      '--',
      'sh',
      '-c',
      `${handler}; echo ready; while :; do sleep 0.05; done`,
    ]);
    const signal = new Promise((resolve) => child.once('exit', (_, name) => resolve(name)));
    await expect.poll(() => output.stdout).toContain('ready\n');
    child.kill('SIGTERM');
    expect([await exited, await signal]).toEqual(ended);
    expect(await recorded(output.stderr)).toMatchObject({ state: 'failed' });
  }
});

test('an agent that ends with 0 after an error of its model has failed', async () => {
  const said = (stopReason: string) => ({
    type: 'message_end',
    message: { role: 'assistant', content: [], stopReason },
  });
  for (const [reasons, state] of [
    [['stop', 'error'], 'failed'],
    [['error', 'stop'], 'completed'],
  ] as const) {
    const { child, output, exited } = await record(['--', 'cat']);
    child.stdin.end(
      [{ type: 'agent_start' }, ...reasons.map(said)].map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    expect(await exited).toBe(0);
    expect(await recorded(output.stderr)).toMatchObject({ agent: 'pi', state });
  }
});

test('--session records into a session of others runs, also when it is finished, and the agent does not get the key', async () => {
  const first = await record(['--', 'sh', '-c', 'echo one; exit 1']);
  first.child.stdin.end();
  await first.exited;
  const id = sessionOf(first.output.stderr);
  const second = await record(['--session', id, '--format', 'claude', '--', 'sh', '-c', 'echo "key: $KEY"']);
  second.child.stdin.end();
  expect(await second.exited).toBe(0);
  expect(sessionOf(second.output.stderr)).toBe(id);
  expect(await recorded(second.output.stderr)).toMatchObject({ state: 'completed', lines: ['one', 'key: '] });
});

test('a line that is longer than a request is sent in parts, and 3,000 lines in batches', async () => {
  const { child, output, exited } = await record(['--format', 'claude', '--', 'cat']);
  const long = 'é'.repeat(2 * 1024 * 1024);
  const many = Array.from({ length: 3000 }, (_, index) => `{"type":"system","subtype":"n","n":${index}}`);
  child.stdin.end([...many, long, 'end'].join('\n'));
  expect(await exited).toBe(0);
  const { lines: stored } = await recorded(output.stderr);
  expect(stored.slice(0, 3000)).toEqual(many);
  expect([stored.slice(3000, -1).join(''), stored.at(-1)]).toEqual([long, 'end']);
});

test('without the gateway the agent runs as ever; the lines stay on disk, and --resume sends them once', async () => {
  const port = await freePort();
  const { child, output, exited, spool } = await record(['--wait', '0', '--', 'sh', '-c', 'cat; exit 5'], {
    GATEWAY: `http://127.0.0.1:${port}`,
  });
  child.stdin.end(text);
  expect([await exited, output.stdout]).toEqual([5, text]);
  const [folder = ''] = await readdir(spool);
  const hint = `${text.length} bytes are not sent. They are in ${join(spool, folder)}; send them with: node record.mjs --resume ${join(spool, folder)}`;
  expect(output.stderr).toContain(hint);
  const resumed = await record(['--resume', join(spool, folder)]);
  expect(await resumed.exited).toBe(0);
  expect(await recorded(resumed.output.stderr)).toMatchObject({ agent: 'codex', state: 'failed', lines });
  expect(await readdir(spool)).toEqual([]);
});

test('a refused key is said once, and changes nothing for the agent', async () => {
  const { child, output, exited, spool } = await record(['--', 'cat'], { KEY: `wgk_${'0'.repeat(36)}` });
  child.stdin.end(text);
  expect([await exited, output.stdout]).toEqual([0, text]);
  expect(output.stderr.match(/the gateway answered 401/g)).toHaveLength(1);
  expect(await readdir(spool)).toHaveLength(1);
});

test.each<[what: string, env: Record<string, string>, message: string]>([
  ['no KEY', { KEY: '' }, 'record: the variables GATEWAY and KEY must be set. Lines are only kept in '],
  ['no GATEWAY', { GATEWAY: '' }, 'record: the variables GATEWAY and KEY must be set. Lines are only kept in '],
  ['a GATEWAY that is no address', { GATEWAY: 'nowhere' }, 'record: the gateway cannot be reached'],
])('with %s the agent runs, and its lines are kept', async (_, env, message) => {
  const { child, output, exited, spool } = await record(['--wait', '0', '--', 'sh', '-c', 'cat; exit 5'], env);
  child.stdin.end(text);
  expect([await exited, output.stdout]).toEqual([5, text]);
  expect(output.stderr.startsWith(message)).toBe(true);
  const [folder = ''] = await readdir(spool);
  expect(await readFile(join(spool, folder, 'lines.ndjson'), 'utf8')).toBe(text);
});

test('where no folder can be written, the agent runs, and its lines are sent from memory', async () => {
  // Below a file there is no folder, whoever asks for it.
  const nowhere = RECORDER;
  const args = [...RECORD, '--spool', nowhere, '--', 'sh', '-c', 'cat; exit 5'];
  const { child, output, exited } = start(args, { GATEWAY: gateway.url, KEY: key, HOME: nowhere, TMPDIR: nowhere });
  child.stdin.end(text);
  expect([await exited, output.stdout]).toEqual([5, text]);
  expect(output.stderr).toContain('record: lines cannot be kept there: ENOTDIR');
  expect(output.stderr).toContain('record: lines are kept in memory until they are sent\n');
  expect(await recorded(output.stderr)).toMatchObject({ state: 'failed', lines });
});

test('lines that are only in memory and cannot be sent are lost with a message', async () => {
  const env = { GATEWAY: gateway.url, KEY: '', HOME: RECORDER, TMPDIR: RECORDER };
  const { child, output, exited } = start([...RECORD, '--', 'sh', '-c', 'cat; exit 5'], env);
  child.stdin.end(text);
  expect([await exited, output.stdout]).toEqual([5, text]);
  expect(output.stderr).toContain(`record: ${text.length} bytes are not sent, and are lost`);
});

test.each<[args: string[], env: Record<string, string>, code: number, message: string]>([
  [['--resume', '/nowhere'], { KEY: '' }, 2, 'record: the variables GATEWAY and KEY must be set\n'],
  [
    ['--format', 'perl'],
    {},
    2,
    'record: --format: must be one of claude, codex, gemini, opencode, openai-responses, copilot, cline, pi, claude-transcript, codex-rollout, gemini-chat, opencode-storage, qwen-chat, text, jsonl, auto\n',
  ],
  [['--nothing'], {}, 2, "record: Unknown option '--nothing'"],
  [['--resume', '/nowhere'], {}, 2, 'record: --resume: there is no recording in /nowhere\n'],
  [['--', 'no-such-agent-here'], {}, 127, 'record: spawn no-such-agent-here ENOENT\n'],
])('%j ends with a message and nothing recorded', async (args, env, code, message) => {
  const { output, exited, spool } = await record(args, env);
  expect(await exited).toBe(code);
  expect(output.stderr.startsWith(message)).toBe(true);
  expect(await readdir(spool)).toEqual([]);
});

const HELP = [['--help'], ...['import', 'sync', 'pull', 'login', 'uninstall'].map((command) => [command, '-h'])];
test.each(HELP)('%s %s prints the documentation at the top of the file', async (...args) => {
  const { output, exited } = await record(args);
  expect(await exited).toBe(0);
  expect(output.stdout).toMatch(/^Records the output of an agent/);
  expect(output.stdout).toContain('--resume FOLDER');
});
