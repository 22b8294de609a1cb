import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, recordedSession, sessionOf, startRecorder } from '../support/processes/recorder.ts';

/** What goes wrong around a recording changes nothing for the agent, and is named as what it is. */

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
const mounts: string[] = [];
afterEach(async () => {
  for (const folder of mounts.splice(0)) execFileSync('umount', ['--lazy', folder]);
  await endProcesses();
});
afterAll(() => gateway.close());

const record = (args: readonly string[], env: Record<string, string> = {}) =>
  startRecorder(gateway.url, key, args, env);
const recorded = (id: string) => recordedSession(gateway, readKey, id);
const transition = (id: string, state: string) =>
  gateway.rest('POST', `/v1/sessions/${id}/transition`, { key, body: { state } });
const usageOf = async (id: string) =>
  (await gateway.rest<Record<string, number | null>>('GET', `/v1/sessions/${id}/usage`, { key: readKey })).body;

async function errorsOf(id: string): Promise<string[]> {
  const path = `/v1/sessions/${id}/events?limit=1000`;
  const { body } = await gateway.rest<{ items: { eventData: { type: string; accumulatedText?: string } }[] }>(
    'GET',
    path,
    {
      key: readKey,
    },
  );
  return body.items.flatMap(({ eventData }) => (eventData.type === 'error' ? [eventData.accumulatedText ?? ''] : []));
}

let lines: readonly string[];
let text: string;
/** Each run has a thread of its own. */
function begin() {
  lines = AGENT_LINES.codex.map((line) => line.replace('th_1', randomUUID()));
  text = lines.map((line) => `${line}\n`).join('');
}
beforeEach(begin);

test('an agent that fails, also before it writes anything, has the last 4 KiB of its standard error as an event, without credentials', async () => {
  const secret = `wgk_${'a1B2'.repeat(9)}`;
  const script = `printf '%05000d\\n' 0 >&2; echo "no such model" >&2; echo "KEY is ${secret}" >&2; exit 2`;
  const { child, output, exited } = await record(['--', 'sh', '-c', script]);
  child.stdin.end();
  expect(await exited).toBe(2);
  expect(output.stderr).toContain('no such model\n');
  const id = sessionOf(output.stderr);
  const [error = '', ...others] = await errorsOf(id);
  expect([others, error.endsWith('0\nno such model\nKEY is [redacted]'), error.length < 4096]).toEqual([
    [],
    true,
    true,
  ]);
  expect(await recorded(id)).toMatchObject({ state: 'failed', agent: 'sh', lines: [] });
});

test('an agent that succeeds leaves no such event, and what it has left running does not hold up the end', async () => {
  const { child, output, exited } = await record([
    '--',
    'sh',
    '-c',
    'echo careful >&2; sleep 600 >/dev/null & echo $!',
  ]);
  child.stdin.end();
  expect(await exited).toBe(0);
  process.kill(Number(output.stdout));
  const id = sessionOf(output.stderr);
  expect([await errorsOf(id), (await recorded(id)).state]).toEqual([[], 'completed']);
});

test('with a full disk the lines are sent from memory, and the session is completed', async ({ skip }) => {
  const disk = join(await temporaryDirectory(), 'disk');
  mkdirSync(disk);
  skip(process.getuid?.() !== 0, 'mounting a small disk needs root');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'pipe' });
  mounts.push(disk);
  const many = Array.from({ length: 5000 }, (_, index) => `{"type":"system","subtype":"n","n":${index}}`);
  const args = [...RECORD, '--spool', disk, '--format', 'claude', '--', 'cat'];
  const { child, output, exited } = start(args, { GATEWAY: gateway.url, KEY: key });
  child.stdin.end(`${many.join('\n')}\n`);
  expect(await exited).toBe(0);
  expect(output.stdout).toBe(`${many.join('\n')}\n`);
  expect(output.stderr).toContain('ENOSPC');
  expect(output.stderr).not.toContain('cannot be reached');
  expect(await recorded(sessionOf(output.stderr))).toMatchObject({ state: 'completed', lines: many });
});

test('--resume ends with 1 while something is not sent, and sends it into a session that somebody has finished', async () => {
  const { child, output, exited, spool } = await record(['--', 'sh', '-c', 'cat; exit 5']);
  child.stdin.write(text);
  await expect.poll(() => output.stderr).toContain('/sessions/');
  const id = sessionOf(output.stderr);
  child.kill('SIGKILL');
  await exited;
  const [folder = ''] = await readdir(spool);
  const path = join(spool, folder);
  await transition(id, 'completed');
  for (const env of [{ KEY: '' }, { KEY: `wgk_${'0'.repeat(36)}` }]) {
    const refused = await record(['--resume', path], env);
    expect(await refused.exited).toBe(1);
  }
  const resumed = await record(['--resume', path]);
  expect([await resumed.exited, await readdir(spool)]).toEqual([0, []]);
  expect(await recorded(id)).toMatchObject({ state: 'failed', lines });
});

test('the next recorder names a recording whose recorder was killed', async () => {
  const first = await record(['--title', 'First', '--', 'cat']);
  // Without the file the folder is no recording yet.
  await expect
    .poll(() => readdir(first.spool, { recursive: true }))
    .toContainEqual(expect.stringMatching(/\/state\.json$/));
  first.child.kill('SIGKILL');
  await first.exited;
  const [folder = ''] = await readdir(first.spool);
  const { child, output, exited } = start([...RECORD, '--spool', first.spool, '--', 'true'], {
    GATEWAY: gateway.url,
    KEY: key,
  });
  child.stdin.end();
  expect(await exited).toBe(0);
  const hint = `(First) is not sent completely; send it with: node record.mjs --resume ${join(first.spool, folder)}\n`;
  expect(output.stderr).toContain(hint);
});

test.each([
  ['of one machine', true],
  ['of several machines', false],
])('two recorders %s in one session: all is recorded, and the last one sets the state', async (_, isShared) => {
  const created = await record(['--', 'echo', 'begin']);
  await created.exited;
  const id = sessionOf(created.output.stderr);
  const script = 'read a; echo $a; read b; echo $b; exit $b';
  const first = await record(['--session', id, '--', 'sh', '-c', script]);
  const options = ['--session', id, '--', 'sh', '-c', script];
  const second = isShared
    ? start([...RECORD, '--spool', first.spool, ...options], { GATEWAY: gateway.url, KEY: key })
    : await record(options);
  first.child.stdin.write('1\n');
  second.child.stdin.write('2\n');
  await expect.poll(async () => (await recorded(id)).lines.length).toBe(3);
  first.child.stdin.end('0\n');
  expect(await first.exited).toBe(0);
  expect((await recorded(id)).state).toBe(isShared ? 'inProgress' : 'completed');
  second.child.stdin.end('7\n');
  expect(await second.exited).toBe(7);
  const { lines: stored, state } = await recorded(id);
  expect([stored.toSorted(), state]).toEqual([['0', '1', '2', '7', 'begin'], 'failed']);
});

test('a session that a person has cancelled stays cancelled, which the recorder says', async () => {
  const { child, output, exited } = await record(['--', 'sh', '-c', 'read a; echo $a; read b; echo $b']);
  child.stdin.write('1\n');
  await expect.poll(() => output.stderr).toContain('/sessions/');
  const id = sessionOf(output.stderr);
  await expect.poll(async () => (await recorded(id)).lines).toEqual(['1']);
  await transition(id, 'cancelled');
  child.stdin.end('2\n');
  expect(await exited).toBe(0);
  expect(output.stderr).toContain('record: the gateway answered 409: the session was cancelled');
  expect(await recorded(id)).toMatchObject({ state: 'cancelled', lines: ['1'] });
});

test('a line of more than 4 MiB is sent as one line, with its longest texts cut, so that its result and its usage are there', async () => {
  const answer = { type: 'tool_result', tool_use_id: 't', content: 'é'.repeat(2_500_000) };
  const long = { type: 'user', message: { role: 'user', content: [answer] } };
  const result = { type: 'result', result: 'x'.repeat(5_000_000), session_id: 's', usage: { input_tokens: 7 } };
  const { child, output, exited } = await record(['--format', 'claude', '--', 'cat']);
  child.stdin.end([long, result, { type: 'system', subtype: 'end' }].map((line) => JSON.stringify(line)).join('\n'));
  expect(await exited).toBe(0);
  const id = sessionOf(output.stderr);
  expect(await usageOf(id)).toMatchObject({ inputTokens: 7, toolCalls: 1, toolErrors: 0 });
  const { lines: stored } = await recorded(id);
  expect(stored.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['user', 'result', 'system']);
  expect(stored[0]).toMatch(/é\\n\[… \d+ more characters were not recorded\]/);
});

test('a rate limit is named as one, and the lines wait', async () => {
  const limited = await startServedGateway({ RATE_LIMIT_PER_MINUTE: '2' });
  const { key: own } = await limited.createKey();
  const { child, output, exited, spool } = await startRecorder(limited.url, own, ['--wait', '0', '--', 'cat']);
  child.stdin.end(text);
  expect(await exited).toBe(0);
  expect(output.stderr).toMatch(/^record: the gateway answered 429: rate limit exceeded.*\. Lines are kept in /m);
  expect(output.stderr).not.toContain('cannot be reached');
  expect(await readdir(spool)).toHaveLength(1);
});

test('10,000 lines are sent in one request', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `line ${index}`);
  // All are there before any is sent.
  const unsent = await record(['--wait', '0', '--format', 'claude', '--', 'cat'], { GATEWAY: '' });
  unsent.child.stdin.end(`${many.join('\n')}\n`);
  expect(await unsent.exited).toBe(0);
  const [folder = ''] = await readdir(unsent.spool);
  const { output, exited } = await record(['--resume', join(unsent.spool, folder)]);
  expect(await exited).toBe(0);
  const batches = await gateway.dependencies.sql.query<{ events: number }>(
    'select (last_id - first_id + 1)::int as events from session_event_batch where session_id = $1',
    [sessionOf(output.stderr)],
  );
  expect(batches).toEqual([{ events: 10_000 }]);
});
