import { appendFile, cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  claudeTranscript,
  codexRollout,
  geminiChat,
  opencodeStorage,
  qwenChat,
} from '../support/fixtures/transcript-lines.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, RECORDER, linesOf } from '../support/processes/recorder.ts';

/** The recorder sends the transcripts that agents have left on disk, each once. */

let gateway: ServedGateway;
let key: string;
let home: string;
let project: string;
beforeAll(async () => {
  gateway = await startServedGateway({ RATE_LIMIT_PER_MINUTE: '0' });
});
afterAll(() => gateway.close());
afterEach(endProcesses);
beforeEach(async () => {
  ({ key } = await gateway.createKey());
  home = await temporaryDirectory();
  project = join(home, 'work', 'shop');
  await mkdir(project, { recursive: true });
});

async function record(...args: string[]) {
  const env = { GATEWAY: gateway.url, KEY: key, HOME: home, CLAUDE_CONFIG_DIR: '', CODEX_HOME: '', XDG_DATA_HOME: '' };
  const { child, output, exited } = start([...RECORD, ...args], env);
  child.stdin.end();
  return { code: await exited, ...output };
}

const textOf = (values: readonly object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const CLAUDE_ID = '7deb9c4a-fc75-4bd9-a319-8c300bf99c69';

async function leave(path: string, values: readonly object[]): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, textOf(values));
  return file;
}
const leaveClaude = (values: readonly object[], id = CLAUDE_ID) =>
  leave(`.claude/projects/-work-shop/${id}.jsonl`, [{ type: 'last-prompt', cwd: project }, ...values]);

interface Listed {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly agent: string;
  readonly visibility: string;
  readonly project: { readonly name: string } | null;
  readonly state: { readonly current: string };
}
async function sessions(): Promise<readonly Listed[]> {
  const path = '/v1/sessions?orderBy=createdAt&sortOrder=ASC';
  return (await gateway.rest<{ items: readonly Listed[] }>('GET', path, { key })).body.items;
}
const linesIn = async (title: string) => {
  const found = (await sessions()).find((each) => each.title === title);
  return linesOf(gateway, key, found?.id ?? '');
};

test('import sends what agents have left, in its place in time, and a second time nothing', async () => {
  await leaveClaude(claudeTranscript);
  await leave(`.claude/projects/-work-shop/${CLAUDE_ID}/subagents/agent-a9.jsonl`, [
    { type: 'summary', summary: 'of a9' },
  ]);
  await leave(`.codex/sessions/2026/11/27/rollout-2026-11-27T20-52-36-${CLAUDE_ID}.jsonl`, codexRollout);
  const dry = await record('import', '--dry-run');
  const lines = claudeTranscript.length + codexRollout.length + 2;
  expect(dry.stderr.replace(/[\d.]+ [KM]iB/, '… KiB')).toBe(
    `record: 2 sessions, … KiB\nrecord: ${lines} lines; 0 possible credentials, which the gateway replaces\n`,
  );
  expect(await sessions()).toEqual([]);
  expect(await record('import')).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  const found = await sessions();
  expect(found).toMatchObject([
    {
      title: 'Fix the rate',
      createdAt: '2026-11-27T20:51:59.854Z',
      agent: 'claude',
      visibility: 'private',
      project: { name: 'shop' },
    },
    { title: '<b>Fix</b> the rate', createdAt: '2026-11-27T20:52:36.953Z', agent: 'codex', project: { name: 'shop' } },
  ]);
  expect(JSON.stringify(found)).not.toContain(home);
  // One has the id of another.
  expect(await linesIn('Fix the rate')).toHaveLength(claudeTranscript.length + 1);
  const again = await record('import', '--yes');
  expect(again.stderr).toMatch(/^record: 0 sessions, 0 KiB\n$/);
  expect(await linesIn('Fix the rate')).toHaveLength(claudeTranscript.length + 1);
});

test('a run that is also recorded by its command is one session, with the project and the branch of its folder', async () => {
  await leaveClaude(claudeTranscript);
  await mkdir(join(project, '.git'));
  await writeFile(join(project, '.git/HEAD'), 'ref: refs/heads/fix/rate\n');
  await writeFile(join(project, '.git/config'), '[remote "origin"]\n\turl = https://git.example/acme/market.git\n');
  const output = join(home, 'output.ndjson');
  const usage = { input_tokens: 1_000_000, output_tokens: 10 };
  await writeFile(
    output,
    textOf([
      { type: 'system', subtype: 'init', session_id: CLAUDE_ID },
      { type: 'result', subtype: 'success', session_id: CLAUDE_ID, num_turns: 1, result: 'Once.', usage },
    ]),
  );
  const run = async () => {
    const command = ['--title', 'By command', '--spool', join(home, 'spool'), '--', 'claude'];
    await writeFile(join(project, 'claude'), `#!/bin/sh\ncat ${output}\n`, { mode: 0o755 });
    const env = { GATEWAY: gateway.url, KEY: key, HOME: home, PATH: `${project}:${process.env['PATH']}` };
    const { child, exited } = start([...RECORD, ...command], env, { cwd: project });
    child.stdin.end();
    expect(await exited).toBe(0);
  };
  const usageOf = async (id: string) =>
    (await gateway.rest<{ inputTokens: number }>('GET', `/v1/sessions/${id}/usage`, { key })).body.inputTokens;
  await run();
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  const [session, ...others] = await sessions();
  expect([session, others]).toMatchObject([
    {
      title: 'By command',
      agent: 'claude',
      project: { name: 'market' },
      branchName: 'fix/rate',
      state: { current: 'completed' },
    },
    [],
  ]);
  expect(await usageOf(session?.id ?? '')).toBe(1_000_000);
  // It was deleted, and what is new is kept apart.
  await gateway.rest('DELETE', `/v1/sessions/${session?.id}`, { key });
  await run();
  expect(await sessions()).toMatchObject([{ title: 'By command', agent: 'claude' }]);
});

test('another state folder, a copied project and a second place of the files store nothing twice', async () => {
  const file = await leaveClaude(claudeTranscript.slice(0, 12));
  await record('sync');
  await appendFile(file, textOf(claudeTranscript.slice(12)));
  await record('sync');
  const before = await linesIn('Fix the rate');
  await rm(join(home, '.workspace-recorder'), { recursive: true });
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  await record('import', '--yes', '--spool', join(home, 'other'));
  for (const folder of ['.claude/projects/-work-copy', '.config/claude/projects/-work-shop'])
    await cp(file, join(home, folder, `${CLAUDE_ID}.jsonl`));
  await record('import', '--yes');
  expect(await linesIn('Fix the rate')).toEqual(before);
  expect((await sessions())[0]).toMatchObject({ state: { current: 'inProgress' } });
  await appendFile(file, '{"type":"summary","summary":"more","leafUuid":"x"}\n');
  await record('sync');
  expect(await linesIn('Fix the rate')).toHaveLength(before.length + 1);
});

test('a file of an agent that is not known is imported as a table of members says', async () => {
  const file = await leave('notes.jsonl', [{ who: 'human', said: 'Why?', at: '2026-11-20T10:00:00Z' }, { n: 1 }]);
  const table = ['--map', 'who:human=user,said=text', '--map', 'at=time'];
  expect(await record('import', '--map', 'a=text')).toMatchObject({ code: 2 });
  expect(await record('import', file, '--agent', 'mine', ...table, '--yes')).toMatchObject({ code: 0 });
  const [found] = await sessions();
  expect(found).toMatchObject({ agent: 'mine' });
  const path = `/v1/sessions/${found?.id}/events`;
  const { body } = await gateway.rest<{ items: { createdAt: string; eventData: object }[] }>('GET', path, { key });
  expect(body.items).toMatchObject([
    { createdAt: '2026-11-20T10:00:00.000Z', eventData: { source: 'user', accumulatedText: 'Why?' } },
    { eventData: { accumulatedText: '{"n":1}' } },
  ]);
});

test('sync adds the end of a file that grew, and of one that was rewritten only what is new', async () => {
  const file = await leaveClaude(claudeTranscript);
  await record('sync');
  const before = await linesIn('Fix the rate');
  await appendFile(file, '{"type":"user","uuid":"n1","message":{"role":"user","content":"half');
  await record('sync');
  expect(await linesIn('Fix the rate')).toEqual(before);
  await appendFile(file, ' a line"}}\n');
  await record('sync');
  const grown = await linesIn('Fix the rate');
  expect(grown.slice(before.length)).toEqual([
    '{"type":"user","uuid":"n1","message":{"role":"user","content":"half a line"}}',
  ]);
  const added = { type: 'summary', summary: 'Compacted' };
  await writeFile(file, textOf([added, ...claudeTranscript.slice(5, 9)]));
  await record('sync');
  expect(await linesIn('Fix the rate')).toEqual([...grown, JSON.stringify(added)]);
  expect(await sessions()).toHaveLength(1);
});

test('a title that the agent gives later renames the session, unless a person has; a title of a person stays', async () => {
  const file = await leaveClaude(claudeTranscript.slice(0, 2));
  const titleAfter = async (line: object) => {
    await appendFile(file, textOf([line]));
    await record('sync');
    return (await sessions()).map(({ title }) => title);
  };
  await record('sync');
  expect(await titleAfter({ type: 'ai-title', aiTitle: `Rate in ${home}/work` })).toEqual(['Rate in ~/work']);
  expect(await titleAfter({ type: 'custom-title', customTitle: 'Mine' })).toEqual(['Mine']);
  expect(await titleAfter({ type: 'ai-title', aiTitle: 'Other' })).toEqual(['Mine']);
  const [found] = await sessions();
  await gateway.rest('PATCH', `/v1/sessions/${found?.id}`, { key, body: { title: 'In the console' } });
  expect(await titleAfter({ type: 'custom-title', customTitle: 'Again' })).toEqual(['In the console']);
});

test('a session of OpenCode is read from its files, with that of its subagent below the call', async () => {
  const storage = '.local/share/opencode/storage';
  const child = { id: 'ses_2', parentID: 'ses_1', projectID: 'p1', directory: project, title: 'Child session - x' };
  const written = [
    ...opencodeStorage,
    child,
    { id: 'msg_9', sessionID: 'ses_2', role: 'assistant' },
    { id: 'prt_99', sessionID: 'ses_2', messageID: 'msg_9', type: 'text', text: 'Two files.' },
  ];
  const write = async (values: readonly Readonly<Record<string, unknown>>[]) => {
    for (const value of values) {
      const { id, sessionID, messageID } = value as Record<string, string>;
      const folder = messageID ? `part/${messageID}` : sessionID ? `message/${sessionID}` : 'session/p1';
      await mkdir(join(home, storage, folder), { recursive: true });
      await writeFile(join(home, storage, folder, `${id}.json`), JSON.stringify(value, null, 2));
    }
  };
  await write(written);
  expect(await record('import', '--agent', 'opencode', '--yes')).toMatchObject({ code: 0 });
  const [found, ...others] = await sessions();
  expect([found, others]).toMatchObject([{ title: 'Fix the rate', agent: 'opencode', project: { name: 'shop' } }, []]);
  const { id = '' } = found ?? {};
  const before = await linesOf(gateway, key, id);
  expect(before).toHaveLength(new Set(written.map(({ id: each }) => each)).size);
  const { body } = await gateway.rest<{ items: { eventData: object }[] }>('GET', `/v1/sessions/${id}/events`, { key });
  const scope = { kind: 'subagent', parentToolUseId: 'call_prt_8' };
  expect(body.items.at(-1)?.eventData).toMatchObject({ scope, accumulatedText: 'Two files.' });
  const answer = { id: 'prt_9a', sessionID: 'ses_1', messageID: 'msg_3', type: 'text', text: 'Done.' };
  await write([answer]);
  await record('sync', '--agent', 'opencode');
  expect(await linesOf(gateway, key, id)).toEqual([...before, JSON.stringify(answer)]);
});

test('older chats of Gemini CLI, and subagents of Codex, whose files are apart', async () => {
  const [head, ...messages] = geminiChat;
  const chat = { ...head, lastUpdated: 1, messages };
  const file = await leave('.gemini/tmp/35ce/chats/session-1.json', [chat]);
  const thread = 'a1a1a1a1-0000-4000-8000-000000000001';
  const rollouts = '.codex/sessions/2026/11/27/rollout-2026-11-27T20-52-3';
  await leave(`${rollouts}6-${CLAUDE_ID}.jsonl`, [
    ...codexRollout,
    { type: 'event_msg', payload: { type: 'collab_agent_spawn_end', call_id: 'c1', new_thread_id: thread } },
  ]);
  const nested = 'a1a1a1a1-0000-4000-8000-000000000002';
  const ofThread = (parent: string) => [
    { type: 'session_meta', payload: { source: { subagent: { thread_spawn: { parent_thread_id: parent } } } } },
    { type: 'response_item', payload: { type: 'message', role: 'assistant', content: [{ text: `of ${parent}` }] } },
  ];
  await leave(`${rollouts}7-${thread}.jsonl`, ofThread(CLAUDE_ID));
  await leave(`${rollouts}8-${nested}.jsonl`, ofThread(thread));
  await record('import', '--yes');
  expect((await sessions()).map(({ agent }) => agent).toSorted()).toEqual(['codex', 'gemini']);
  const ofGemini = (await sessions()).find(({ agent }) => agent === 'gemini');
  expect(await linesOf(gateway, key, ofGemini?.id ?? '')).toHaveLength(geminiChat.length);
  await writeFile(file, textOf([{ ...chat, lastUpdated: 2, messages: [...messages, { id: 'g9', type: 'info' }] }]));
  await record('sync');
  expect(await linesOf(gateway, key, ofGemini?.id ?? '')).toHaveLength(geminiChat.length + 1);
  const { id } = (await sessions()).find(({ agent }) => agent === 'codex') ?? {};
  const { body } = await gateway.rest<{ items: { eventData: { scope: object; accumulatedText?: string } }[] }>(
    'GET',
    `/v1/sessions/${id}/events?limit=1000`,
    { key },
  );
  const said = (text: string) =>
    body.items.find(({ eventData }) => eventData.accumulatedText === text)?.eventData.scope;
  expect([said(`of ${CLAUDE_ID}`), said(`of ${thread}`)]).toEqual([
    { kind: 'subagent', parentToolUseId: 'c1' },
    { kind: 'subagent', taskId: nested },
  ]);
});

test('a transcript whose session was deleted, and those in folders that are left out, are not sent', async () => {
  const file = await leaveClaude(claudeTranscript);
  await record('sync');
  const [found] = await sessions();
  await gateway.rest('DELETE', `/v1/sessions/${found?.id}`, { key });
  await appendFile(file, '{"type":"summary","summary":"more"}\n');
  expect(await record('sync')).toMatchObject({ code: 0 });
  await writeFile(join(home, 'work', '.workspace-ignore'), '');
  await leaveClaude(claudeTranscript, 'left-out');
  await record('sync');
  expect(await sessions()).toEqual([]);
});

test('install adds hooks beside those of others, which end with 0 whatever happens; uninstall takes them out', async () => {
  const hooks = { Stop: [{ hooks: [{ type: 'command', command: 'say done' }] }] };
  const settings = await leave('.claude/settings.json', [{ model: 'opus', hooks }]);
  const config = join(home, '.codex', 'config.toml');
  await mkdir(join(home, '.codex'));
  await writeFile(config, 'model = "gpt-5"\n[tools]\n');
  expect(await record('install')).toMatchObject({ code: 2 });
  expect(await record('install', '--yes')).toMatchObject({ code: 0 });
  const installed = JSON.parse(await readFile(settings, 'utf8')) as {
    hooks: typeof hooks & { SessionEnd: typeof hooks.Stop };
  };
  expect(installed.hooks.Stop).toHaveLength(2);
  expect((await readFile(config, 'utf8')).split('\n')[0]).toMatch(/^notify = \["sh","-c",".*sync --hook/);
  const command = installed.hooks.SessionEnd[0]?.hooks[0]?.command ?? '';
  const hook = start(['sh', '-c', command.replace('record.mjs', 'gone.mjs')], { HOME: home });
  expect([await hook.exited, hook.output]).toEqual([0, { stdout: '', stderr: '' }]);
  await record('install', '--yes');
  await record('uninstall', '--yes');
  expect(JSON.parse(await readFile(settings, 'utf8'))).toEqual({ model: 'opus', hooks });
  expect(await readFile(config, 'utf8')).toBe('model = "gpt-5"\n[tools]\n');
});

test('the end of a session of Claude Code completes its session once all of it is sent; another turn continues it', async () => {
  await leave('.claude/settings.json', [{}]);
  await record('install', '--yes');
  const settings = JSON.parse(await readFile(join(home, '.claude/settings.json'), 'utf8')) as {
    hooks: Record<string, readonly { hooks: readonly { command: string }[] }[]>;
  };
  const file = await leaveClaude(claudeTranscript.slice(0, 12));
  /** Runs a hook as Claude Code does. */
  async function say(event: string, id = CLAUDE_ID) {
    // Without `nice`, with which it waits for all other work of the machine.
    const command = settings.hooks[event]?.[0]?.hooks[0]?.command.replace('nice -n 19', '') ?? '';
    const hook = start(['sh', '-c', command], { HOME: home });
    hook.child.stdin.end(JSON.stringify({ hook_event_name: event, session_id: id, transcript_path: file }));
    expect(await hook.exited).toBe(0);
  }
  const seen = async () => {
    const [session] = await sessions();
    return session && [session.state.current, (await linesOf(gateway, key, session.id)).length];
  };
  const shows = (...expected: unknown[]) => expect.poll(seen, { interval: 200 }).toEqual(expected);
  await say('Stop');
  await shows('inProgress', 13);
  await appendFile(file, textOf(claudeTranscript.slice(12, 14)));
  await say('SessionEnd', '../other');
  await shows('inProgress', 15);
  await say('SessionEnd');
  await shows('completed', 15);
  await appendFile(file, textOf(claudeTranscript.slice(14)));
  await say('Stop');
  // One line has the id of another.
  await shows('inProgress', claudeTranscript.length);
});

test('install adds a plugin to OpenCode and hooks to Copilot CLI, as files of its own, which both run', async () => {
  await mkdir(join(home, '.copilot'));
  await mkdir(join(home, '.config', 'opencode'), { recursive: true });
  await record('install', '--yes');
  const [hooks, plugin] = [
    join(home, '.copilot/hooks/workspace-recorder.json'),
    join(home, '.config/opencode/plugins/workspace-recorder.js'),
  ];
  const written = JSON.parse(await readFile(hooks, 'utf8')) as { hooks: Record<string, [{ bash: string }]> };
  await cp(plugin, join(home, 'plugin.mjs'));
  const idle = `import('./plugin.mjs').then(async (it) => (await it.WorkspaceRecorder()).event({ event: { type: 'session.idle' } }))`;
  const event = { hook_event_name: 'SessionEnd', session_id: 'c1' };
  const say = (file: string, text: string) => ({ type: 'user.message', id: file, data: { content: text } });
  await leave('.copilot/session-state/c1/events.jsonl', [say('1', 'Fix it')]);
  const env = { HOME: home };
  const hook = start(['sh', '-c', written.hooks['SessionEnd']?.[0].bash.replace('nice -n 19', '') ?? ''], env);
  hook.child.stdin.end(JSON.stringify(event));
  expect(await hook.exited).toBe(0);
  const states = async () => (await sessions()).map(({ title, state }) => [title, state.current]);
  await expect.poll(states, { interval: 200 }).toEqual([['Fix it', 'completed']]);
  await leave('.copilot/session-state/c2/events.jsonl', [say('2', 'Go on')]);
  expect(await start([process.execPath, '-e', idle], env, { cwd: home }).exited).toBe(0);
  await expect.poll(states, { interval: 200 }).toContainEqual(['Go on', 'inProgress']);
  expect(await record('status')).toMatchObject({ stderr: expect.stringContaining(`${hooks} and ${plugin}`) });
  await record('uninstall', '--yes');
  expect([await readdir(join(hooks, '..')), await readdir(join(plugin, '..'))]).toEqual([[], []]);
});

test('install adds hooks to Gemini CLI, and prints managed settings without a key, whose hooks keep nothing before a login', async () => {
  const settings = await leave('.gemini/settings.json', [{ theme: 'dark' }]);
  await record('install', '--yes');
  const { theme, hooks } = JSON.parse(await readFile(settings, 'utf8')) as {
    theme: string;
    hooks: Record<string, readonly { hooks: readonly { command: string }[] }[]>;
  };
  expect([theme, Object.keys(hooks)]).toEqual(['dark', ['AfterAgent', 'SessionEnd']]);
  await record('uninstall', '--yes');
  expect(JSON.parse(await readFile(settings, 'utf8'))).toEqual({ theme: 'dark' });
  expect(await record('install', '--print', 'managed')).toMatchObject({ code: 2 });
  const printed = await record('install', '--print', 'managed', '--at', RECORDER);
  expect([printed.code, printed.stdout.includes(key), printed.stderr]).toEqual([0, false, '']);
  const [, json = '', notify = ''] =
    /^managed-settings.json.*:\n([^]*)\nmanaged_config.toml.*:\n(.*)/.exec(printed.stdout) ?? [];
  const managed = JSON.parse(json) as { hooks: typeof hooks };
  expect([Object.keys(managed.hooks), notify]).toEqual([
    ['Stop', 'SessionEnd'],
    expect.stringContaining(`env GATEWAY='${gateway.url}' node`),
  ]);
  await leaveClaude(claudeTranscript);
  const before = await readdir(home);
  const command = managed.hooks['SessionEnd']?.[0]?.hooks[0]?.command.replace(' &)', ')') ?? '';
  const hook = start(['sh', '-c', command], { HOME: home });
  hook.child.stdin.end(JSON.stringify({ hook_event_name: 'SessionEnd', session_id: CLAUDE_ID }));
  expect([await hook.exited, await readdir(home)]).toEqual([0, before]);
});

test('install asks the gateway first; an error of a hook is seen later, until one succeeds', async () => {
  await leave('.claude/settings.json', [{ model: 'opus' }]);
  const { key: valid } = { key };
  key = `wgk_${'0'.repeat(36)}`;
  expect(await record('install', '--yes')).toMatchObject({ code: 1, stderr: expect.stringContaining('401') });
  expect(await readFile(join(home, '.claude/settings.json'), 'utf8')).toBe('{"model":"opus"}\n');
  key = valid;
  expect(await record('install', '--yes')).toMatchObject({ code: 0 });
  expect(await record('status')).toMatchObject({ code: 0, stderr: expect.stringContaining('takes recordings') });
  key = `wgk_${'0'.repeat(36)}`;
  await leaveClaude(claudeTranscript);
  expect(await record('sync')).toMatchObject({ code: 1 });
  key = valid;
  const seen = expect.stringMatching(/the last sync has failed at 20\S+: the gateway answered 401/) as string;
  expect(await record('status')).toMatchObject({ code: 1, stderr: seen });
  expect(await record('import', '--dry-run')).toMatchObject({ code: 0, stderr: seen });
  expect(await record('sync')).toMatchObject({ code: 0 });
  expect(await record('status')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('has failed') });
});

test('a summary that is an error is no title', async () => {
  const summary = { type: 'summary', summary: 'Invalid API key · Please run /login', leafUuid: 'x' };
  const said = { type: 'user', uuid: 'u', message: { role: 'user', content: 'Fix the rate' } };
  await leaveClaude([summary, said]);
  await record('import', '--yes');
  expect((await sessions()).map(({ title }) => title)).toEqual(['Fix the rate']);
});

test('the database of OpenCode has the sessions that its files had; a Node.js that cannot read it says so', async () => {
  const folder = join(home, '.local/share/opencode');
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'opencode.db');
  const database = new DatabaseSync(path);
  database.exec(`create table session (id text, project_id text, parent_id text, directory text, title text, time_created integer, time_updated integer);
    create table message (id text, session_id text, time_created integer, time_updated integer, data text);
    create table part (id text, message_id text, session_id text, time_created integer, time_updated integer, data text);`);
  const at = Date.UTC(2026, 10, 29);
  const add = (table: string, ...values: (string | number | null)[]) =>
    database.prepare(`insert into ${table} values (${values.map(() => '?').join()})`).run(...values);
  const said = (id: string, message: string, data: object) =>
    add('part', id, message, 'ses_1', at, at, JSON.stringify(data));
  add('session', 'ses_1', 'p', null, project, 'Fix the rate', at, at);
  add('message', 'msg_1', 'ses_1', at, at, '{"role":"user"}');
  said('prt_1', 'msg_1', { type: 'text', text: 'Fix it' });
  add('message', 'msg_2', 'ses_1', at + 1, at, '{"role":"assistant"}');
  said('prt_2', 'msg_2', { type: 'step-finish', tokens: { input: 100, output: 10, cache: { read: 0, write: 0 } } });
  const read = async () => {
    const env = { GATEWAY: gateway.url, KEY: key, HOME: home, XDG_DATA_HOME: '', NODE_OPTIONS: '' };
    const { exited, output } = start([process.execPath, RECORDER, 'import', '--yes'], env);
    return { code: await exited, ...output };
  };
  expect(await read()).toMatchObject({ code: 0 });
  const [found] = await sessions();
  expect(found).toMatchObject({ title: 'Fix the rate', agent: 'opencode', project: { name: 'shop' } });
  expect(await linesIn('Fix the rate')).toHaveLength(5);
  add('message', 'msg_3', 'ses_1', at + 2, at + 2, '{"role":"user"}');
  add('part', 'prt_3', 'msg_3', 'ses_1', at + 2, at + 2, '{"type":"text","text":"More"}');
  await read();
  expect(await linesIn('Fix the rate')).toHaveLength(7);
  const address = `/v1/sessions/${found?.id}/usage`;
  expect((await gateway.rest('GET', address, { key })).body).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  database.close();
  const old = await record('import', '--yes');
  expect([old.code, old.stderr.includes(`${path} is not read, which needs Node.js 22.13`)]).toEqual([
    0,
    !(await hasSqlite(RECORD[0])),
  ]);
});

async function hasSqlite(node: string) {
  return (await start([node, '-e', "require('node:sqlite')"], {}).exited) === 0;
}

test('sessions of Qwen Code, Copilot CLI, pi and Cline are those of their agents, found in their places or given', async () => {
  await leave('.qwen/projects/-work-shop/chats/q1.jsonl', qwenChat);
  await leave('.copilot/session-state/c1/events.jsonl', [
    { type: 'session.start', data: { context: { cwd: project, branch: 'tax' } } },
    { type: 'user.message', id: 'u1', data: { content: 'Fix the cart' } },
    { type: 'session.usage_record', data: { model: 'gpt-5', inputTokens: 100, outputTokens: 10 } },
  ]);
  const usage = { input: 100, output: 10, cost: { total: 0.1 } };
  const ofPi = [
    { type: 'session', version: 3, id: 'p1', cwd: project },
    { type: 'message', id: 'm1', message: { role: 'user', content: [{ type: 'text', text: 'Fix the tax' }] } },
    { type: 'message', id: 'm2', message: { role: 'assistant', model: 'm', content: [], usage } },
  ];
  await leave('.pi/agent/sessions/--work-shop--/2026-11-29_p1.jsonl', ofPi);
  const [at, metrics] = [Date.now(), { inputTokens: 100, outputTokens: 10 }];
  const head = {
    session_id: 'k1',
    started_at: new Date(at).toISOString(),
    cwd: project,
    metadata: { title: 'Fix it' },
  };
  await leave('.cline/data/sessions/k1/k1.json', [head]);
  const messages = [{ id: 'm1', role: 'assistant', content: [], metrics, ts: at }];
  await leave('.cline/data/sessions/k1/k1.messages.json', [{ messages }]);
  await leave('.cline/data/sessions/k1/team.messages.json', [{ messages: [{ ...messages[0], id: 'm2' }] }]);
  expect(await record('import', '--yes')).toMatchObject({ code: 0 });
  const given = await leave('elsewhere/p1.jsonl', ofPi);
  expect(await record('import', given, '--yes')).toMatchObject({ code: 0 });
  // Copilot names its session at the end of its output; a line is also in the file. Cline does not. Qwen Code has the lines of Claude Code.
  const run = { type: 'system', subtype: 'init', session_id: 'q1', qwen_code_version: '0.24.4' };
  const begun = { ts: new Date(at + 500).toISOString(), type: 'hook_event', hookEventName: 'agent_start' };
  for (const line of [{ type: 'user.message', id: 'u1', data: { content: 'Fix the cart' } }, begun, run]) {
    const { child, exited } = start(RECORD, { GATEWAY: gateway.url, KEY: key, HOME: home }, { cwd: project });
    child.stdin.end(textOf([line]));
    expect(await exited).toBe(0);
  }
  const found = (await sessions()).toSorted((one, other) => (one.agent < other.agent ? -1 : 1));
  expect(found[1]).toMatchObject({ branchName: 'tax' });
  const used = async ({ id, agent, title }: Listed) => {
    const { body } = await gateway.rest<{ inputTokens: number }>('GET', `/v1/sessions/${id}/usage`, { key });
    return [agent, title, body.inputTokens];
  };
  expect(await Promise.all(found.map(used))).toEqual([
    ['cline', 'Fix it', 200],
    ['copilot', 'Fix the cart', 100],
    ['pi', 'Fix the tax', 100],
    ['qwen', 'Fix the rate', 100],
  ]);
});
