import { expect, test } from 'vitest';
import type { FormatName } from '../../../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES } from '../../../support/fixtures/agent-lines.ts';
import { storyOf } from '../../../support/fixtures/converted-lines.ts';

/** What the formats of Copilot CLI, Cline and pi, and the one for unknown agents, make of lines. */

const story = (format: FormatName) => storyOf(format, AGENT_LINES[format]);
const lines = (...values: readonly object[]) => values.map((value) => JSON.stringify(value));

test('copilot: parts and whole messages, thinking, calls that are reported twice, subagents and usage', async () => {
  expect(await story('copilot')).toMatchInlineSnapshot(`
    "
    system | - | session.mcp_server_status_changed
    user | u1 | user.message | "Fix the rate"
    system | - | assistant.turn_start
    assistant | r1 | assistant.reasoning_delta | commentary | + "Look "
    assistant | r1 | assistant.reasoning | commentary | "Look first."
    system | - | assistant.message_start
    assistant | m1 | assistant.message_delta | + "I will "
    assistant | m1 | assistant.message_delta | + "look."
    assistant | - | assistant.tool_call_delta
    assistant | m1 | assistant.message | "I will look."
    assistant | c1 | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    assistant | - | tool.execution_start
    tool | c1 | tool.execution_partial_result | bash | {"status":"running","output":"a"}
    tool | c1 | tool.execution_complete | bash | {"status":"completed","output":"a\\nb"}
    assistant | c2 | tool.execution_start | task | {"status":"running"} | "{\\"prompt\\":\\"Look\\"}"
    assistant (subagent c2) | m2 | assistant.message | "Two."
    tool | c2 | tool.execution_complete | task | {"status":"error","output":"","error":"stopped"}
    system | - | assistant.usage | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":7}
    system | - | assistant.turn_end | {"turns":1}
    system | - | error | "the quota is used up"
    system | - | result | {"durationMs":900}
    "
  `);
});

test('cline: texts without ids, calls with several commands, and a total of which most was reported before', async () => {
  expect(await story('cline')).toMatchInlineSnapshot(`
    "
    system | - | hook_event
    system | - | iteration_start
    assistant | reasoning-1 | content_start | commentary | + "Look "
    assistant | reasoning-1 | content_end | commentary | "Look first."
    assistant | text-2 | content_start | + "I will "
    assistant | text-2 | content_start | + "look."
    system | - | usage | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":5,"costUsd":0.25,"turns":1}
    assistant | text-2 | content_end | "I will look."
    assistant | c1 | content_start | run_commands | {"status":"running"} | "{\\"commands\\":[\\"ls\\",\\"false\\"]}"
    tool | c1 | content_update | run_commands | {"status":"running","output":"a\\n"}
    tool | c1 | content_end | run_commands | {"status":"error","output":"a\\n\\n","error":"exit code 1"}
    tool | c2 | content_end | issues__search | {"status":"completed","output":"#1"}
    assistant | text-3 | content_end | "Done."
    system | - | done
    system | - | run_result | {"inputTokens":30,"outputTokens":5,"cachedInputTokens":0,"cacheWriteTokens":0,"costUsd":0.25,"durationMs":619}
    "
  `);
});

test('pi: blocks in parts and whole messages, calls with progress, and the usage of each message once', async () => {
  expect(await story('pi')).toMatchInlineSnapshot(`
    "
    system | - | session
    system | - | agent_start
    user | - | message_start
    user | message-1:0 | message_end | "Fix the rate"
    assistant | - | message_start
    assistant | message-2:0 | thinking_delta | commentary | + "Look "
    assistant | message-2:0 | thinking_end | commentary | "Look first."
    assistant | message-2:1 | text_delta | + "I will "
    assistant | - | toolcall_delta
    assistant | message-2:1 | text_end | "I will look."
    assistant | c1 | toolcall_end | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    assistant | - | message_end | {"inputTokens":60,"outputTokens":20,"cachedInputTokens":40,"cacheWriteTokens":10,"costUsd":0.5,"turns":1}
    assistant | - | tool_execution_start
    tool | c1 | tool_execution_update | bash | {"status":"running","output":"a"}
    tool | c1 | tool_execution_end | bash | {"status":"error","output":"no such file\\nat a","error":"no such file"}
    tool | - | message_start
    tool | - | message_end
    system | - | turn_end
    assistant | - | message_start
    assistant | message-4:0 | message_end | "Done." | {"inputTokens":60,"outputTokens":20,"cachedInputTokens":40,"cacheWriteTokens":10,"costUsd":0.5,"turns":1}
    system | - | error | "lost"
    system | - | agent_end
    "
  `);
});

test('an agent that no format knows: texts, roles, calls and results of common shapes', async () => {
  expect(await story('auto')).toMatchInlineSnapshot(`
    "
    system | - | start
    user | read:1 | user_input | "Fix the rate"
    assistant | read:2 | say | "I will look."
    assistant | read:3 | line | "One."
    assistant | read:4 | "Two."
    assistant | read:5 | chunk | "Three."
    user | read:6 | step | "Why?"
    assistant | c1 | tool_call | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | c1 | tool_result | bash | {"status":"completed","output":"a\\nb"}
    tool | c2 | event | read | {"status":"error","output":"no such file","error":"the call failed"}
    system | - | error | "the model is away"
    "
  `);
});

test('a line of a type that a format does not know is read in the same way', async () => {
  const unknown = lines({ type: 'agent_note', data: { content: 'A note.' } }, { type: 'other', n: 1 });
  for (const format of ['claude', 'codex', 'gemini', 'opencode', 'openai-responses', 'copilot', 'cline', 'pi'] as const)
    expect(await storyOf(format, unknown)).toBe('\nassistant | read:1 | agent_note | "A note."\nsystem | - | other\n');
});

test('plain text is that of the program', async () => {
  expect(await storyOf('auto', ['Looking …', '{"half":'])).toBe('\nassistant | - | line\nsystem | - | line\n');
});

test('codex: a change of a file is the call of the agent, in the words of the app server too', async () => {
  const change = { id: 'i1', type: 'fileChange', changes: [{ path: '/a.rs', kind: { type: 'add' }, diff: '+x' }] };
  expect(
    await storyOf(
      'codex',
      lines(
        { type: 'item.started', item: { ...change, status: 'inProgress' } },
        { type: 'item.completed', item: { ...change, status: 'completed' } },
        {
          type: 'item.completed',
          item: { id: 'i2', type: 'commandExecution', command: 'x', aggregatedOutput: 'o', exitCode: 4 },
        },
      ),
    ),
  ).toMatchInlineSnapshot(`
    "
    assistant | i1 | item.started | apply_patch | {"status":"running"} | "{\\"changes\\":[{\\"path\\":\\"/a.rs\\",\\"kind\\":{\\"type\\":\\"add\\"},\\"diff\\":\\"+x\\"}]}"
    tool | i1 | item.completed | apply_patch | {"status":"completed","output":"add /a.rs"}
    assistant | i2 | item.completed | shell | {"status":"running"} | "{\\"command\\":\\"x\\"}"
    tool | i2 | shell | {"status":"error","output":"o","exitCode":4,"error":"the command ended with code 4"}
    "
  `);
});

test('opencode: a command that ends with another code than 0 has failed, and child sessions are subagents', async () => {
  const call = (sessionID: string, exit: number) => ({
    type: 'tool_use',
    sessionID,
    part: {
      callID: `${sessionID}-c`,
      tool: 'bash',
      state: { status: 'completed', input: {}, output: '', metadata: { exit } },
    },
  });
  const text = (sessionID: string) => ({ type: 'text', sessionID, part: { id: `${sessionID}-t`, text: sessionID } });
  expect(
    await storyOf(
      'opencode',
      lines(
        { type: 'step_start', sessionID: 'main', part: {} },
        { type: 'step_start', sessionID: 'child', part: {} },
        text('child'),
        call('child', 3),
        { type: 'step_finish', sessionID: 'child', part: { reason: 'stop' } },
        call('main', 0),
        { type: 'step_finish', sessionID: 'main', part: { reason: 'stop' } },
        { type: 'step_start', sessionID: 'next', part: {} },
        text('next'),
      ),
    ),
  ).toMatchInlineSnapshot(`
    "
    system | - | step_start
    system (subagent child) | - | step_start
    assistant (subagent child) | child-t | text | "child"
    assistant (subagent child) | child-c | tool_use | bash | {"status":"running"} | "{}"
    tool (subagent child) | child-c | bash | {"status":"error","output":"","exitCode":3,"error":"the command ended with code 3"}
    system (subagent child) | - | step_finish | {"turns":1}
    assistant | main-c | tool_use | bash | {"status":"running"} | "{}"
    tool | main-c | bash | {"status":"completed","output":"","exitCode":0}
    system | - | step_finish | {"turns":1}
    system | - | step_start
    assistant | next-t | text | "next"
    "
  `);
});

test('claude: lines of a side chain are those of a subagent', async () => {
  const line = { type: 'assistant', isSidechain: true, agentId: 'a1', message: { id: 'm', content: 'I look.' } };
  expect(await storyOf('claude', lines(line))).toBe('\nassistant (subagent a1) | m:0 | assistant | "I look."\n');
});

test('claude: a final answer is there once, also when others have spoken since', async () => {
  const said = (id: string, text: string) => ({
    type: 'assistant',
    message: { id, content: [{ type: 'text', text }] },
  });
  const result = (text: string) => ({ type: 'result', result: text, session_id: 's' });
  const shown = await storyOf(
    'claude',
    lines(said('1', 'The answer.'), said('2', 'Noted.'), result('The answer.'), result('Noted.'), result('Other.')),
  );
  expect(['The answer.', 'Noted.', 'Other.'].map((text) => shown.split(text).length - 1)).toEqual([1, 1, 1]);
});
