import { expect, test } from 'vitest';
import { FORMAT_NAMES, type FormatName } from '../../../../src/domains/session-events/formats/names.ts';
import { formatOfLine } from '../../../../src/domains/session-events/formats/recognition.ts';
import { AGENT_LINES } from '../../../support/fixtures/agent-lines.ts';
import { storyOf } from '../../../support/fixtures/converted-lines.ts';

/** What the formats of the files that agents keep make of lines. The assumptions are in `formats/transcripts.md`. */

type Line = Parameters<typeof formatOfLine>[0];
const story = (format: FormatName) => storyOf(format, AGENT_LINES[format]);

test('claude-transcript: messages, subagents below their calls, usage once, notes and titles', async () => {
  expect(await story('claude-transcript')).toMatchInlineSnapshot(`
    "
    system | - | queue-operation
    user | u1:0 | user | "Fix the rate"
    system | - | date
    system | u2:0 | note | "<system-reminder>\\nBe brief.\\n</system-reminder>"
    user | u2:1 | "Please"
    system | u3:0 | note | "Caveat: the messages below are of a command"
    assistant | m1:0 | assistant | commentary | "Look first." | {"inputTokens":110,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":10,"model":"claude-opus-5-5"}
    assistant | m1:1 | assistant | "I will look."
    assistant | t1 | assistant | Bash | {"status":"running"} | "{\\"command\\":\\"exit 3\\"}"
    tool | t1 | user | Bash | {"status":"error","output":"Exit code 3\\nbad","exitCode":3,"error":"Exit code 3"}
    user | x2:0 | queued_command | "And the tests"
    assistant | t2 | assistant | Agent | {"status":"running"} | "{\\"prompt\\":\\"Look around\\"}" | {"inputTokens":110,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":10,"model":"claude-opus-5-5"}
    assistant | t3 | assistant | Agent | {"status":"running"} | "{\\"prompt\\":\\"Look below\\"}"
    tool | t2 | user | Agent | {"status":"completed","output":"Launched"}
    user (subagent t2) | s1:0 | user | "Look around"
    assistant (subagent t2) | m3:0 | assistant | "Two files." | {"inputTokens":110,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":10,"model":"claude-opus-5-5"}
    user (subagent t3) | s3:0 | user | "Look below"
    assistant (subagent t3) | m4:0 | assistant | "None." | {"inputTokens":110,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":10,"model":"claude-opus-5-5"}
    system | u6:0 | note | "<task-notification>\\n<task-id>a1</task-id>"
    system | - | repeated
    system | - | error | "API Error: 529"
    system | - | turn_duration | {"turns":1,"durationMs":1234}
    system | - | compact_boundary | "Conversation compacted"
    system | - | api-request-blob
    system | - | last-prompt
    system | - | title | "Rate of the cart"
    system | - | title | "Fix the rate"
    "
  `);
});

test('codex-rollout: items, calls with exit codes, and totals; events repeat nothing', async () => {
  expect(await story('codex-rollout')).toMatchInlineSnapshot(`
    "
    system | - | session_meta
    system | item-1 | note | "<permissions instructions>"
    system | item-2 | note | "Something new of the program"
    system | item-3 | note | "<environment_context>\\n  <cwd>/srv/shop</cwd>"
    system | item-4 | note | "# AGENTS.md instructions for /srv/shop"
    system | - | turn_context
    user | u1 | response_item | "<b>Fix</b> the rate"
    system | - | user_message
    assistant | r1 | response_item | commentary | "Look first"
    assistant | m1 | response_item | "I will look."
    system | - | agent_message
    assistant | c1 | response_item | exec_command | {"status":"running"} | "{\\"cmd\\":\\"exit 3\\"}"
    tool | c1 | response_item | exec_command | {"status":"error","output":"Chunk ID: 1\\nProcess exited with code 3\\nOutput:\\nbad","exitCode":3,"error":"the command ended with code 3"}
    system | - | token_count | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50,"model":"gpt-5-codex"}
    assistant | c2 | response_item | apply_patch | {"status":"running"} | "*** Begin Patch"
    tool | c2 | response_item | apply_patch | {"status":"completed","output":"Done","exitCode":0}
    assistant | c3 | response_item | mcp__issues__search | {"status":"running"} | "{}"
    tool | c3 | response_item | mcp__issues__search | {"status":"error","output":"none","error":"the call failed"}
    assistant | w1 | response_item | web_search | {"status":"running"} | "{\\"type\\":\\"search\\",\\"query\\":\\"rate\\"}"
    tool | w1 | web_search | {"status":"completed","output":""}
    system | - | token_count | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50,"model":"gpt-5-codex"}
    system | - | token_count | {"inputTokens":0,"outputTokens":0,"cachedInputTokens":0,"model":"gpt-5-codex"}
    system | - | error | "the quota is used up"
    system | - | task_complete | {"turns":1,"durationMs":717}
    system | - | compacted | "The rate was fixed"
    user | item-9 | message | "A line of the first versions"
    "
  `);
});

test('gemini-chat: a message that is written three times is there once, with its calls', async () => {
  expect(await story('gemini-chat')).toMatchInlineSnapshot(`
    "
    system | - | line
    system | g0:0 | note | "<session_context>\\nThis is the Gemini CLI."
    user | g1:0 | user | "Fix the rate"
    system | - | line
    assistant | g2:thought-0 | gemini | commentary | "Look: first" | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50}
    assistant | g2 | "I will look."
    assistant | c1 | gemini | run_shell_command | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | c1 | gemini | run_shell_command | {"status":"completed","output":"cart.js"}
    system | - | user
    assistant | c2 | gemini | run_shell_command | {"status":"running"} | "{\\"command\\":\\"ls\\"}" | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":50}
    tool | c2 | run_shell_command | {"status":"error","output":"","error":"the call failed"}
    assistant | c3 | run_shell_command | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | c3 | run_shell_command | {"status":"error","output":"Output: bad\\nExit Code: 3\\nProcess Group PGID: 1","exitCode":3,"error":"the command ended with code 3"}
    system | - | error | "the quota is used up"
    "
  `);
});

test('opencode-storage: parts that are written anew are counted once, with notes of the program', async () => {
  expect(await story('opencode-storage')).toMatchInlineSnapshot(`
    "
    system | - | title | "Fix the rate"
    system | - | message
    user | prt_1 | text | "Fix the rate"
    system | prt_2 | note | "Called the Read tool"
    user | - | file | "[file cart.js]"
    system | - | message
    system | - | step-start
    assistant | prt_5 | reasoning | commentary | "Look first."
    assistant | prt_6 | text | "I will look."
    system | - | tool
    assistant | call_prt_7 | tool | bash | {"status":"running"} | "{\\"a\\":1}"
    assistant | call_prt_7 | tool | bash | {"status":"running"} | "{\\"a\\":1}"
    tool | call_prt_7 | bash | {"status":"error","output":"a","exitCode":3,"error":"the command ended with code 3"}
    system | - | repeated
    assistant | call_prt_8 | tool | task | {"status":"running"} | "{\\"a\\":1}"
    tool | call_prt_8 | task | {"status":"completed","output":"Two."}
    system | - | step-finish | {"inputTokens":110,"outputTokens":20,"cachedInputTokens":50,"cacheWriteTokens":10,"costUsd":0.5,"turns":1,"model":"m"}
    system | - | repeated
    system | - | error | "overloaded"
    "
  `);
});

test('codex-rollout: the file of a subagent is below the call that started it, and has totals of its thread', async () => {
  const item = (payload: object) => JSON.stringify({ type: 'response_item', payload });
  const counted = (input: number) =>
    JSON.stringify({
      type: 'event_msg',
      payload: { type: 'token_count', info: { total_token_usage: { input_tokens: input } } },
    });
  const spawn = (call_id: string, output: object) => [
    item({ type: 'function_call', name: 'spawn_agent', call_id, arguments: '{}' }),
    item({ type: 'function_call_output', call_id, output: JSON.stringify(output) }),
  ];
  const said = item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Two.' }] });
  const meta = (path: string) =>
    JSON.stringify({ type: 'session_meta', payload: { source: { subagent: { thread_spawn: { agent_path: path } } } } });
  const main = [...spawn('c1', { agent_id: 'thread-1' }), ...spawn('c2', { task_name: '/root/look' }), counted(100)];
  const shown = await storyOf('codex-rollout', [
    ...main,
    { line: said, subagent: 'thread-1' },
    { line: counted(40), subagent: 'thread-1' },
    { line: meta('/root/look'), subagent: 'thread-2' },
    { line: said, subagent: 'thread-2' },
    { line: counted(60), subagent: 'thread-1' },
    { line: said, subagent: 'thread-3' },
    counted(150),
  ]);
  expect(shown.split('\n').slice(5, -1)).toEqual([
    'system | - | token_count | {"inputTokens":100}',
    'assistant (subagent c1) | item-1 | response_item | "Two."',
    'system (subagent c1) | - | token_count | {"inputTokens":40}',
    'system (subagent c2) | - | session_meta',
    'assistant (subagent c2) | item-2 | response_item | "Two."',
    'system (subagent c1) | - | token_count | {"inputTokens":20}',
    'assistant (subagent thread-3) | item-3 | response_item | "Two."',
    'system | - | token_count | {"inputTokens":50}',
  ]);
});

test('qwen-chat: messages, thoughts, calls with exit codes and tokens', async () => {
  expect(await story('qwen-chat')).toMatchInlineSnapshot(`
    "
    user | u1:0 | user | "Fix the rate"
    assistant | u2:0 | assistant | commentary | "Look first" | {"inputTokens":100,"outputTokens":24,"cachedInputTokens":50,"turns":1,"model":"qwen-x"}
    assistant | u2:1 | "I will look."
    assistant | c1 | run_shell_command | {"status":"running"} | "{\\"command\\":\\"exit 3\\"}"
    tool | c1 | tool_result | run_shell_command | {"status":"error","output":"bad","exitCode":3,"error":"the command ended with code 3"}
    system | - | ui_telemetry
    "
  `);
});

test.each(FORMAT_NAMES.filter((name) => !['auto', 'text', 'jsonl'].includes(name)))(
  '%s is recognized by its lines, of which none is taken for one of another format',
  async (format) => {
    const found = AGENT_LINES[format].map((line) => formatOfLine(JSON.parse(line) as object as Line));
    expect([...new Set(found)].filter((name) => name !== undefined)).toEqual([format]);
    expect(await storyOf('auto', AGENT_LINES[format])).toBe(await story(format));
  },
);
