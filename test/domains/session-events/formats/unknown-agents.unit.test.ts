import { expect, test } from 'vitest';
import { memberTable } from '../../../../src/domains/session-events/formats/member-table.ts';
import { AGENT_LINES, ODD_LINES } from '../../../support/fixtures/agent-lines.ts';
import { convertAll, dataOf, storyOf } from '../../../support/fixtures/converted-lines.ts';

/** Agents that no format knows: `text`, and `jsonl` with a table of members. */

const lines = (...values: readonly object[]) => values.map((value) => JSON.stringify(value));

test('text: every line is what the agent says, whatever it looks like', async () => {
  expect(await storyOf('text', ['Looking …', '{"half":', '{"role":"user","content":"x"}', '[1,2]'])).toBe(`
assistant | - | line
assistant | - | line | "{\\"half\\":"
assistant | - | line | "{\\"role\\":\\"user\\",\\"content\\":\\"x\\"}"
assistant | - | line | "[1,2]"
`);
});

test('jsonl: without a table, common members are read, and every other line is shown as it is', async () => {
  expect(await storyOf('jsonl', ['plain', '{"role":"user","content":"Why?"}', '{"n":1}', '[1]', '{"half":'])).toBe(`
assistant | - | line
user | read:1 | line | "Why?"
system | - | line | "{\\"n\\":1}"
system | - | line | "[1]"
system | - | line | "{\\"half\\":"
`);
});

test.each(['text', 'jsonl'] as const)('%s: no line is without a text', async (format) => {
  const given = [...ODD_LINES, ...Object.values(AGENT_LINES).flat()];
  const silent = (await convertAll(format, given)).flatMap((events, index) =>
    events.some((event) => {
      const { accumulatedText, toolName, toolResult, event: from } = dataOf(event);
      const plain = /^\s*[[{]/.test(from?.message ?? '[') ? undefined : from?.message;
      return [accumulatedText, toolName, toolResult, plain].some(Boolean);
    })
      ? []
      : [given[index]],
  );
  expect(silent).toEqual([]);
});

test('jsonl: a table says who speaks, what is said, and what the calls of tools are', async () => {
  const table =
    'from:human=user,from:note=system,body.text=text,why=thinking,oops=error,at=time,' +
    'run.name=toolName,run.id=toolCallId,run.with=toolInput,run.gave=toolOutput,run.broke=toolError,' +
    'spent.in=inputTokens,spent.out=outputTokens,spent.usd=costUsd,llm=model';
  const given = lines(
    { from: 'human', body: { text: 'Fix the rate' }, at: '2026-11-27T20:52:00.021Z' },
    { from: 'bot', why: 'Look first.', body: { text: 'I will look.' }, llm: 'm1', spent: { in: 10, out: 2, usd: 0.5 } },
    { from: 'bot', run: { name: 'sh', id: 7, with: { command: 'ls' } } },
    { from: 'bot', run: { id: 7, gave: 'a\nb' } },
    { from: 'bot', run: { name: 'sh', with: 'pwd', broke: 'no shell' } },
    { from: 'bot', run: { name: 'sh', with: 'pwd' } },
    { from: 'bot', run: { gave: '/srv' } },
    { from: 'note', body: [{ text: 'One.' }, { text: 'Two.' }] },
    { oops: { message: 'lost' } },
    { spent: { in: 5 } },
    { from: 'bot', other: true },
  );
  expect(await storyOf('jsonl', given, table)).toMatchInlineSnapshot(`
    "
    user | read:1 | line | "Fix the rate"
    assistant | read:2 | line | "I will look." | {"inputTokens":10,"outputTokens":2,"costUsd":0.5,"model":"m1"}
    assistant | read:3 | commentary | "Look first."
    assistant | 7 | line | sh | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    tool | 7 | line | sh | {"status":"completed","output":"a\\nb"}
    assistant | call:1 | line | sh | {"status":"running"} | "pwd"
    tool | call:1 | sh | {"status":"error","output":"","error":"no shell"}
    assistant | call:2 | line | sh | {"status":"running"} | "pwd"
    tool | call:2 | line | sh | {"status":"completed","output":"/srv"}
    system | read:4 | line | "One."
    system | read:5 | "Two."
    system | - | error | "lost"
    system | - | line | {"inputTokens":5}
    system | - | line | "{\\"from\\":\\"bot\\",\\"other\\":true}"
    "
  `);
  expect((await convertAll('jsonl', given, table)).flat()[0]?.createdAt).toBe('2026-11-27T20:52:00.021Z');
});

/** Agents of which a format is known too, read by tables instead. */
test('jsonl: Copilot CLI, Cline and pi, as tables describe them', async () => {
  const copilot =
    'type:user.message=user,type:assistant.reasoning=thinking,data.content=text,data.toolName=toolName,' +
    'data.toolCallId=toolCallId,data.arguments=toolInput,data.result.content=toolOutput,data.error=toolError,' +
    'data.inputTokens=inputTokens,data.outputTokens=outputTokens';
  expect(await storyOf('jsonl', AGENT_LINES.copilot, copilot)).toMatchInlineSnapshot(`
    "
    system | - | line | "{\\"type\\":\\"session.mcp_server_status_changed\\",\\"data\\":{\\"serverName\\":\\"issues\\",\\"status\\":\\"pending\\"},\\"ephemeral\\":true}"
    user | read:1 | user.message | "Fix the rate"
    system | - | line | "{\\"type\\":\\"assistant.turn_start\\",\\"data\\":{\\"turnId\\":\\"0\\"}}"
    system | - | line | "{\\"type\\":\\"assistant.reasoning_delta\\",\\"data\\":{\\"reasoningId\\":\\"r1\\",\\"deltaContent\\":\\"Look \\"}}"
    assistant | read:2 | assistant.reasoning | commentary | "Look first."
    system | - | line | "{\\"type\\":\\"assistant.message_start\\",\\"data\\":{\\"messageId\\":\\"m1\\"}}"
    system | - | line | "{\\"type\\":\\"assistant.message_delta\\",\\"data\\":{\\"messageId\\":\\"m1\\",\\"deltaContent\\":\\"I will \\"}}"
    system | - | line | "{\\"type\\":\\"assistant.message_delta\\",\\"data\\":{\\"messageId\\":\\"m1\\",\\"deltaContent\\":\\"look.\\"}}"
    assistant | c1 | assistant.tool_call_delta | bash | {"status":"running"} | "{}"
    assistant | read:3 | assistant.message | "I will look."
    assistant | c1 | tool.execution_start | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    system | - | line | "{\\"type\\":\\"tool.execution_partial_result\\",\\"data\\":{\\"toolCallId\\":\\"c1\\",\\"partialOutput\\":\\"a\\"}}"
    tool | c1 | tool.execution_complete | bash | {"status":"completed","output":"a\\nb"}
    assistant | c2 | tool.execution_start | task | {"status":"running"} | "{\\"prompt\\":\\"Look\\"}"
    assistant | read:4 | assistant.message | "Two."
    tool | c2 | tool.execution_complete | task | {"status":"error","output":"","error":"stopped"}
    system | - | assistant.usage | {"inputTokens":100,"outputTokens":20}
    system | - | line | "{\\"type\\":\\"assistant.turn_end\\",\\"data\\":{\\"turnId\\":\\"0\\"}}"
    assistant | read:5 | session.error | "the quota is used up"
    system | - | line | "{\\"type\\":\\"result\\",\\"exitCode\\":0,\\"usage\\":{\\"premiumRequests\\":1,\\"sessionDurationMs\\":900}}"
    "
  `);
  const cline =
    'event.text=assistant,event.reasoning=thinking,event.inputTokens=inputTokens,event.cost=costUsd,ts=time';
  expect(await storyOf('jsonl', AGENT_LINES.cline, cline)).toMatchInlineSnapshot(`
    "
    system | - | line | "{\\"ts\\":\\"2026-11-27T20:57:07.922Z\\",\\"type\\":\\"hook_event\\",\\"hookEventName\\":\\"agent_start\\",\\"parentAgentId\\":null}"
    system | - | line | "{\\"ts\\":\\"2026-11-27T20:57:07.922Z\\",\\"type\\":\\"agent_event\\",\\"event\\":{\\"type\\":\\"iteration_start\\",\\"iteration\\":1}}"
    assistant | read:1 | agent_event | commentary | "Look "
    assistant | read:2 | agent_event | commentary | "Look first."
    assistant | read:3 | agent_event | "I will "
    assistant | read:4 | agent_event | "look."
    system | - | agent_event | {"inputTokens":100,"costUsd":0.25}
    assistant | read:5 | agent_event | "I will look."
    assistant | c1 | agent_event | run_commands | {"status":"running"} | "{\\"commands\\":[\\"ls\\",\\"false\\"]}"
    system | - | line | "{\\"ts\\":\\"2026-11-27T20:57:07.922Z\\",\\"type\\":\\"agent_event\\",\\"event\\":{\\"type\\":\\"content_update\\",\\"contentType\\":\\"tool\\",\\"toolCallId\\":\\"c1\\",\\"toolName\\":\\"run_commands\\",\\"update\\":{\\"stream\\":\\"stdout\\",\\"chunk\\":\\"a\\\\n\\"}}}"
    tool | c1 | agent_event | run_commands | {"status":"completed","output":"[content]\\n[content]"}
    tool | c2 | agent_event | issues__search | {"status":"completed","output":"#1"}
    assistant | read:6 | agent_event | "Done."
    assistant | read:7 | agent_event | "Done."
    assistant | read:8 | run_result | "Done."
    "
  `);
  const pi = 'message.role=role,message.content=text,message.usage.input=inputTokens';
  expect(await storyOf('jsonl', AGENT_LINES.pi, pi)).toMatchInlineSnapshot(`
    "
    system | - | line | "{\\"type\\":\\"session\\",\\"version\\":3,\\"id\\":\\"s1\\",\\"cwd\\":\\"/shop\\"}"
    system | - | line | "{\\"type\\":\\"agent_start\\"}"
    user | read:1 | message_start | "Fix the rate"
    user | read:2 | message_end | "Fix the rate"
    system | - | line | "{\\"type\\":\\"message_start\\",\\"message\\":{\\"role\\":\\"assistant\\",\\"content\\":[]}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"thinking_delta\\",\\"contentIndex\\":0,\\"delta\\":\\"Look \\",\\"partial\\":{}}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"thinking_end\\",\\"contentIndex\\":0,\\"content\\":\\"Look first.\\",\\"partial\\":{}}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"text_delta\\",\\"contentIndex\\":1,\\"delta\\":\\"I will \\",\\"partial\\":{}}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"toolcall_delta\\",\\"contentIndex\\":2,\\"delta\\":\\"{}\\",\\"partial\\":{}}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"text_end\\",\\"contentIndex\\":1,\\"content\\":\\"I will look.\\",\\"partial\\":{}}}"
    system | - | line | "{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"toolcall_end\\",\\"contentIndex\\":2,\\"toolCall\\":{\\"type\\":\\"toolCall\\",\\"id\\":\\"c1\\",\\"name\\":\\"bash\\",\\"arguments\\":{\\"command\\":\\"ls\\"}},\\"partial\\":{}}}"
    assistant | read:3 | message_end | "I will look." | {"inputTokens":50}
    assistant | c1 | bash | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
    system | - | line | "{\\"type\\":\\"tool_execution_start\\",\\"toolCallId\\":\\"c1\\",\\"toolName\\":\\"bash\\",\\"args\\":{\\"command\\":\\"ls\\"}}"
    system | - | line | "{\\"type\\":\\"tool_execution_update\\",\\"toolCallId\\":\\"c1\\",\\"toolName\\":\\"bash\\",\\"partialResult\\":{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"a\\"}]}}"
    tool | c1 | tool_execution_end | bash | {"status":"error","output":"no such file\\nat a","error":"the call failed"}
    tool | c1 | message_start | bash | {"status":"completed","output":""}
    tool | c1 | message_end | bash | {"status":"completed","output":""}
    assistant | read:4 | turn_end | "I will look." | {"inputTokens":50}
    system | - | line | "{\\"type\\":\\"message_start\\",\\"message\\":{\\"role\\":\\"assistant\\",\\"content\\":[]}}"
    assistant | read:5 | message_end | "Done." | {"inputTokens":50}
    system | - | line | "{\\"type\\":\\"agent_end\\",\\"messages\\":[{\\"role\\":\\"assistant\\",\\"content\\":[{\\"type\\":\\"thinking\\",\\"thinking\\":\\"Look first.\\"},{\\"type\\":\\"text\\",\\"text\\":\\"I will look.\\"},{\\"type\\":\\"toolCall\\",\\"id\\":\\"c1\\",\\"name\\":\\"bash\\",\\"arguments\\":{\\"command\\":\\"ls\\"}}]}]}"
    "
  `);
});

test('jsonl: texts, calls and results in the shapes of the Gemini API, as a table finds them', async () => {
  const told = (role: string, ...parts: object[]) => ({ message: { role, parts } });
  const given = lines(
    told('user', { text: 'Fix the rate' }),
    told('model', { text: 'I will look.' }, { functionCall: { id: 'c1', name: 'sh', args: { command: 'ls' } } }),
    told('user', { functionResponse: { id: 'c1', name: 'sh', response: { output: 'a' } } }),
  );
  const expected = `
user | read:1 | "Fix the rate"
assistant | read:2 | "I will look."
assistant | c1 | sh | {"status":"running"} | "{\\"command\\":\\"ls\\"}"
tool | c1 | sh | {"status":"completed","output":"a"}
`;
  const shown = async (table?: string) => (await storyOf('jsonl', given, table)).replaceAll(' | line', '');
  expect(await shown('message.role=role,message.parts=text')).toBe(expected);
  expect(await shown()).toBe(expected);
});

test.each([
  ['', 'each entry must be MEMBER=ROLE or MEMBER:VALUE=ROLE, not ""'],
  ['text', 'each entry must be MEMBER=ROLE or MEMBER:VALUE=ROLE, not "text"'],
  ['a=text,b=spoken', /^ROLE must be one of user, assistant, .*, not "b=spoken"$/],
  ['kind:call=toolName', /^after a value, ROLE must be one of user, .*, error, not "kind:call=toolName"$/],
  [Array.from({ length: 51 }, () => 'a=text').join(','), 'must have at most 50 entries'],
  ['a'.repeat(2001), /2000/],
])('a table that is wrong is refused: %j', (table, message) => {
  expect(memberTable.safeParse(table).error?.issues[0]?.message).toMatch(message);
});

test('names of members and values can be percent-encoded', () => {
  expect(memberTable.parse('a%2Cb.c%3Dd:e%3af=user, größe = text ,100%=text')).toEqual([
    { path: ['a,b', 'c=d'], value: 'e:f', role: 'user' },
    { path: ['größe'], role: 'text' },
    { path: ['100%'], role: 'text' },
  ]);
});
