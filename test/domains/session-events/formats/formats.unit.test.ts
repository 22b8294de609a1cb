import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../../../src/domains/session-events/event-data.ts';
import { FORMAT_NAMES, type FormatName } from '../../../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES, ODD_LINES } from '../../../support/fixtures/agent-lines.ts';
import { convertAll, dataOf, storyOf } from '../../../support/fixtures/converted-lines.ts';
import { RECORDED_AGENTS } from '../../../support/fixtures/recorded-agents.ts';
import { sampled, sampledRuns } from '../../../support/sample.ts';

/** What each format makes of the lines of its agent. Every line is kept whole, whatever it is. */

const story = (format: FormatName) => storyOf(format, AGENT_LINES[format]);

test('claude: messages, thinking, tool calls with results, subagents, tasks and usage', async () => {
  expect(await story('claude')).toMatchInlineSnapshot(`
    "
    system | - | init
    user | - | user | "Fix the coupon total"
    assistant | - | message_start
    assistant | msg_1:0 | content_block_delta | commentary | + "The total "
    assistant | msg_1:0 | assistant | commentary | "The total is wrong."
    assistant | msg_1:1 | content_block_delta | + "I will "
    assistant | msg_1:1 | content_block_delta | + "look."
    assistant | msg_1:1 | assistant | "I will look."
    assistant | toolu_1 | assistant | Bash | {"status":"running"} | "{\\"command\\":\\"npm test\\"}"
    assistant | toolu_2 | Task | {"status":"running"} | "{\\"prompt\\":\\"Find callers\\"}"
    tool | toolu_1 | user | Bash | {"status":"error","output":"expected 90\\nreceived 81","error":"expected 90"}
    assistant (subagent toolu_2) | msg_2:0 | assistant | "Two callers."
    tool | toolu_2 | user | Task | {"status":"completed","output":"Two callers.\\n[image image/png]"}
    system (background t1) | - | task_started | "Watch the tests"
    system | - | rate_limit_event
    assistant | msg_3:0 | assistant | "Done."
    assistant | - | result | {"inputTokens":12,"outputTokens":340,"cachedInputTokens":9000,"costUsd":0.25,"turns":3,"durationMs":5400}
    "
  `);
});

test('what real agents wrote is understood', async () => {
  const stories = await Promise.all(
    Object.entries(RECORDED_AGENTS).map(
      async ([format, { version, lines }]) => `${version}${await storyOf(format as FormatName, lines)}`,
    ),
  );
  expect(stories.join('\n')).toMatchInlineSnapshot(`
    "Claude Code 2.1.332
    system | - | init
    system | - | status
    assistant | - | message_start
    assistant | - | content_block_start
    assistant | msg_fake_1:0 | content_block_delta | + "I will look "
    assistant | msg_fake_1:0 | content_block_delta | + "at the files"
    assistant | msg_fake_1:0 | content_block_delta | + "."
    assistant | msg_fake_1:0 | assistant | "I will look at the files." | {"inputTokens":11,"outputTokens":1,"cachedInputTokens":3,"cacheWriteTokens":0,"model":"claude-opus-5-5"}
    assistant | toolu_fake_1 | content_block_start | Bash | {"status":"running"}
    assistant | toolu_fake_1 | content_block_delta | Bash | + "{\\"command\\":\\"ls; exit 3\\",\\"description\\":\\"List files\\"}"
    assistant | toolu_fake_1 | assistant | Bash | {"status":"running"} | "{\\"command\\":\\"ls; exit 3\\",\\"description\\":\\"List files\\"}"
    assistant | - | message_stop
    tool | toolu_fake_1 | user | Bash | {"status":"error","output":"Exit code 3\\na.ts","exitCode":3,"error":"Exit code 3"}
    system | - | status
    assistant | - | message_start
    assistant | - | content_block_start
    assistant | msg_fake_2:0 | content_block_delta | + "There is one"
    assistant | msg_fake_2:0 | content_block_delta | + " file. Done."
    assistant | msg_fake_2:0 | assistant | "There is one file. Done." | {"inputTokens":11,"outputTokens":1,"cachedInputTokens":3,"cacheWriteTokens":0,"model":"claude-opus-5-5"}
    assistant | - | message_stop
    assistant | b6363c38-0000-4000-8000-000000000000 | result | {"inputTokens":0,"outputTokens":38,"cachedInputTokens":0,"cacheWriteTokens":0,"costUsd":0.0008892,"turns":2,"durationMs":1282,"model":"claude-opus-5-5"}

    Codex 0.171.0
    system | - | thread.started
    system | item_0 | error | "Model metadata for \`gpt-5\` not found."
    system | - | turn.started
    assistant | item_1 | item.completed | commentary | "**Looking at the files**"
    assistant | item_2 | item.completed | "I will look."
    assistant | item_3 | item.started | shell | {"status":"running"} | "{\\"command\\":\\"/bin/bash -lc 'ls; exit 3'\\"}"
    tool | item_3 | item.completed | shell | {"status":"error","output":"a.ts\\n","exitCode":3,"error":"the command ended with code 3"}
    assistant | item_4 | item.completed | "There is one file. Done."
    system | - | turn.completed | {"inputTokens":24,"outputTokens":14,"cachedInputTokens":4,"cacheWriteTokens":0,"turns":1}

    Gemini CLI 0.61.0
    system | - | init
    user | message-1 | message | "List the files"
    assistant | message-2 | message | + "I will "
    assistant | message-2 | message | + "look."
    assistant | message-2 | message | "I will look."
    assistant | list_directory__list_directory_1795740111704_0 | list_directory | {"status":"running"} | "{\\"path\\":\\".\\",\\"dir_path\\":\\".\\"}"
    tool | list_directory__list_directory_1795740111704_0 | tool_result | list_directory | {"status":"completed","output":""}
    assistant | message-3 | message | + "There is one "
    assistant | message-3 | message | + "file. Done."
    assistant | message-3 | message | "There is one file. Done."
    system | - | {"inputTokens":28,"outputTokens":12,"cachedInputTokens":4,"model":"fake","turns":1,"durationMs":397}

    opencode 1.18.33
    system | - | step_start
    assistant | prt_21a73e618001fq7Zer39s8aC22 | text | "I will look."
    assistant | call_fake_8 | tool_use | bash | {"status":"running"} | "{\\"command\\":\\"ls; exit 3\\",\\"description\\":\\"List files\\"}"
    tool | call_fake_8 | bash | {"status":"error","output":"a.ts\\n","exitCode":3,"error":"the command ended with code 3"}
    system | - | step_finish | {"inputTokens":12,"outputTokens":5,"cachedInputTokens":0,"cacheWriteTokens":0,"costUsd":0,"turns":1}
    system | - | step_start
    assistant | prt_21a73ef94001l510Z3luwhsnpb | text | "There is one file. Done."
    system | - | step_finish | {"inputTokens":12,"outputTokens":5,"cachedInputTokens":0,"cacheWriteTokens":0,"costUsd":0,"turns":1}
    "
  `);
});

test('codex: reasoning, commands, changes of files, MCP calls, plans, errors, and usage as the increase of the total', async () => {
  expect(await story('codex')).toMatchInlineSnapshot(`
    "
    system | - | thread.started
    system | - | turn.started
    assistant | item_0 | item.completed | commentary | "**Planning**"
    assistant | item_1 | item.started | shell | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | item_1 | item.updated | shell | {"status":"running","output":"a\\n"}
    tool | item_1 | item.completed | shell | {"status":"error","output":"a\\nb\\n","exitCode":2,"error":"the command ended with code 2"}
    assistant | item_2 | item.completed | apply_patch | {"status":"running"} | "{\\"changes\\":[{\\"path\\":\\"src/cart.ts\\",\\"kind\\":\\"update\\"}]}"
    tool | item_2 | apply_patch | {"status":"completed","output":"update src/cart.ts"}
    assistant | item_3 | item.completed | github__search | {"status":"running"} | "{\\"q\\":\\"cart\\"}"
    tool | item_3 | github__search | {"status":"completed","output":"one"}
    assistant | item_4 | item.updated | commentary | "- [x] Read\\n- [ ] Mend"
    assistant | item_5 | item.completed | "Mended."
    system | item_6 | error | "the model was slow"
    system | - | turn.completed | {"inputTokens":100,"outputTokens":20,"cachedInputTokens":60,"turns":1}
    system | - | turn.completed | {"inputTokens":50,"outputTokens":10,"cachedInputTokens":30,"turns":1}
    system | - | error | "stream disconnected" | {"turns":1}
    system | - | thread.compacted
    "
  `);
});

test('gemini: parts of a message are joined, until something else comes in between', async () => {
  expect(await story('gemini')).toMatchInlineSnapshot(`
    "
    system | - | init
    user | message-1 | message | "Say hello"
    assistant | message-2 | message | + "Hel"
    assistant | message-2 | message | + "lo."
    assistant | message-2 | message | "Hello."
    assistant | r-1 | read_file | {"status":"running"} | "{\\"path\\":\\"a.ts\\"}"
    tool | r-1 | tool_result | read_file | {"status":"error","output":"","error":"no such file"}
    assistant | message-3 | message | + "Gone."
    assistant | message-3 | message | "Gone."
    system | - | warning | "loop detected"
    system | - | result | {"inputTokens":50,"outputTokens":20,"cachedInputTokens":10,"model":"gemini-x","turns":1,"durationMs":4000}
    "
  `);
});

test('opencode: one line has a tool call and its result', async () => {
  expect(await story('opencode')).toMatchInlineSnapshot(`
    "
    system | - | step_start
    assistant | prt_1 | reasoning | commentary | "Look first."
    assistant | call_1 | tool_use | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | call_1 | bash | {"status":"completed","output":"a\\n","exitCode":0}
    assistant | call_2 | tool_use | read | {"status":"running"} | "{\\"path\\":\\"b\\"}"
    tool | call_2 | read | {"status":"error","output":"","error":"File not found"}
    assistant | prt_4 | text | "There is one file."
    system | - | step_finish | {"inputTokens":30,"outputTokens":8,"cachedInputTokens":5,"cacheWriteTokens":0,"costUsd":0.01,"turns":1}
    system | - | error | "overloaded"
    "
  `);
});

test('openai-responses: parts and complete texts, and calls by their call id', async () => {
  expect(await story('openai-responses')).toMatchInlineSnapshot(`
    "
    assistant | - | response.created
    assistant | - | response.output_item.added
    assistant | rs_1:0 | response.reasoning_summary_text.delta | commentary | + "Think"
    assistant | rs_1:0 | response.reasoning_summary_text.done | commentary | "Thinking."
    assistant | call_1 | response.output_item.added | weather | {"status":"running"}
    assistant | call_1 | response.function_call_arguments.delta | weather | + "{\\"city\\""
    assistant | call_1 | response.function_call_arguments.done | weather | {"status":"running"} | "{\\"city\\":\\"Bonn\\"}"
    assistant | ws_1 | response.output_item.done | web_search | {"status":"running"} | "{\\"type\\":\\"search\\",\\"query\\":\\"bonn\\"}"
    tool | ws_1 | web_search | {"status":"completed","output":""}
    assistant | msg_1:0 | response.output_text.delta | + "It "
    assistant | msg_1:0 | response.output_text.delta | + "rains."
    assistant | msg_1:0 | response.output_text.done | "It rains."
    system | - | response.completed | {"inputTokens":9,"outputTokens":6,"cachedInputTokens":4,"turns":1}
    "
  `);
});

test('openai-responses: lines of an event stream are read too', async () => {
  const lines = AGENT_LINES['openai-responses'].flatMap((line) => [`data: ${line}`]);
  const texts = async (given: readonly string[]) =>
    (await convertAll('openai-responses', given)).flat().map((event) => dataOf(event).accumulatedText);
  expect(await texts(lines)).toEqual(await texts(AGENT_LINES['openai-responses']));
});

test('times of lines are kept, and unreadable ones left out', async () => {
  const timesOf = async (format: FormatName) =>
    (await convertAll(format, AGENT_LINES[format])).flat().map(({ createdAt }) => createdAt);
  expect((await timesOf('gemini'))[0]).toBe('2026-11-01T10:00:00.000Z');
  expect((await timesOf('opencode'))[0]).toBe('2026-11-01T10:00:00.000Z');
  expect((await timesOf('codex'))[0]).toBe(null);
});

/** The line, put together from its events. */
function lineOf(events: readonly RecordedEvent[]): string {
  const { line } = dataOf(events[0] ?? never());
  const parts = events.slice(0, line?.parts ?? 1);
  return parts.map((event) => dataOf(event).event?.message).join('');
}
const never = (): never => {
  throw new Error('a line without an event');
};

/** Lines that cannot be put together again from their events. */
async function lostOf(format: FormatName, lines: readonly string[]): Promise<string[]> {
  const converted = await convertAll(format, lines);
  return converted.flatMap((events, index) => (lineOf(events) === lines[index] ? [] : [lines[index] ?? '']));
}

sampled(test, 4).each(FORMAT_NAMES)('%s: odd lines are kept whole', async (format) => {
  expect(await lostOf(format, [...ODD_LINES, ...FORMAT_NAMES.flatMap((name) => AGENT_LINES[name])])).toEqual([]);
});

sampled(test, 4).each(FORMAT_NAMES)(
  '%s: a line of more than a MiB is kept in parts, and its texts are cut',
  async (format) => {
    const text = '😀"\\'.repeat(256 * 1024);
    const lines = [
      JSON.stringify({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } }),
      JSON.stringify({ type: 'message', role: 'user', content: text, part: { text } }),
      text,
    ];
    expect(await lostOf(format, lines)).toEqual([]);
  },
);

sampled(test, 4).each(FORMAT_NAMES)('%s: any JSON as a line is kept', async (format) => {
  const known = FORMAT_NAMES.flatMap((name) =>
    AGENT_LINES[name].map((line) => JSON.parse(line) as Record<string, unknown>),
  );
  const keys = [...new Set(known.flatMap((line) => Object.keys(line)))];
  const mutated = fc
    .tuple(fc.constantFrom(...known), fc.constantFrom(...keys), fc.jsonValue())
    .map(([line, key, value]) => ({ ...line, [key]: value }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(mutated, fc.jsonValue()), { maxLength: 5 }), async (values) => {
      const lines = values.map((value) => JSON.stringify(value));
      expect(await lostOf(format, lines)).toEqual([]);
    }),
    { seed: 46, numRuns: sampledRuns(150, 30) },
  );
});
