import { describe, expect, test } from 'vitest';
import { editsOf } from '../../src/console/sessions/edits.ts';
import type { TimelineEvent } from '../../src/console/sessions/event-content.ts';
import { type TimelineItem, withEvents } from '../../src/console/sessions/timeline.ts';
import { FORMAT_NAMES, type FormatName } from '../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES, ODD_LINES } from '../support/fixtures/agent-lines.ts';
import { convertAll } from '../support/fixtures/converted-lines.ts';
import { sampled } from '../support/sample.ts';

/** What the timeline shows of recorded agents. */

async function eventsOf(format: FormatName, lines: readonly string[]): Promise<TimelineEvent[]> {
  const events = (await convertAll(format, lines)).flat();
  return events.map(({ eventType, messageId, eventData }, index) => ({
    databaseId: index + 1,
    createdAt: '2026-11-01T10:00:00.000Z',
    eventType,
    messageId,
    eventDataJson: JSON.parse(eventData) as unknown,
  }));
}

/** An item in one line. */
function rowText(item: TimelineItem): string {
  const { speaker } = item;
  if (item.kind === 'message') return `${speaker}${item.isThinking ? ' (thinking)' : ''}: ${item.text}`;
  if (item.kind === 'note') return `${speaker}${item.isError ? ' (error)' : ''}: ${item.label}: ${item.text}`;
  return `${speaker}: ${item.name} ${item.input} ${item.status} ${item.error ?? item.output}`;
}

const shownOf = async (format: FormatName) => withEvents([], await eventsOf(format, AGENT_LINES[format])).map(rowText);

describe('a recorded agent', () => {
  test('claude', async () => {
    expect(await shownOf('claude')).toMatchInlineSnapshot(`
      [
        "System: init: ",
        "User: Fix the coupon total",
        "Agent (thinking): The total is wrong.",
        "Agent: I will look.",
        "Tool: Bash {"command":"npm test"} error expected 90",
        "Tool: Task {"prompt":"Find callers"} completed Two callers.
      [image image/png]",
        "Subagent: Two callers.",
        "System: task started: Watch the tests",
        "System: rate limit event: ",
        "Agent: Done.",
        "Agent: result: $0.25 · 5.4 s agent time · 3 turns · 12 tokens in · 9,000 cached · 340 tokens out",
      ]
    `);
  });
  test('codex', async () => {
    expect(await shownOf('codex')).toMatchInlineSnapshot(`
      [
        "System: thread started: ",
        "System: turn started: ",
        "Agent (thinking): **Planning**",
        "Tool: shell {"command":"ls"} error the command ended with code 2",
        "Tool: apply_patch {"changes":[{"path":"src/cart.ts","kind":"update"}]} completed update src/cart.ts",
        "Tool: github__search {"q":"cart"} completed one",
        "Agent (thinking): - [x] Read
      - [ ] Mend",
        "Agent: Mended.",
        "System (error): error: the model was slow",
        "System: turn completed: 1 turn · 100 tokens in · 60 cached · 20 tokens out",
        "System: turn completed: 1 turn · 50 tokens in · 30 cached · 10 tokens out",
        "System (error): error: stream disconnected
      1 turn",
        "System: thread compacted: ",
      ]
    `);
  });
  test('gemini', async () => {
    expect(await shownOf('gemini')).toMatchInlineSnapshot(`
      [
        "System: init: ",
        "User: Say hello",
        "Agent: Hello.",
        "Tool: read_file {"path":"a.ts"} error no such file",
        "Agent: Gone.",
        "System: warning: loop detected",
        "System: result: 4 s agent time of this turn · 1 turn · 50 tokens in · 10 cached · 20 tokens out",
      ]
    `);
  });
  test('opencode', async () => {
    expect(await shownOf('opencode')).toMatchInlineSnapshot(`
      [
        "Agent (thinking): Look first.",
        "Tool: bash {"command":"ls"} completed a
      ",
        "Tool: read {"path":"b"} error File not found",
        "Agent: There is one file.",
        "System: step finish: $0.01 · 1 turn · 30 tokens in · 5 cached · 8 tokens out",
        "System (error): error: overloaded",
      ]
    `);
  });
  test('openai-responses', async () => {
    expect(await shownOf('openai-responses')).toMatchInlineSnapshot(`
      [
        "Agent (thinking): Thinking.",
        "Tool: weather {"city":"Bonn"} running ",
        "Tool: web_search {"type":"search","query":"bonn"} completed ",
        "Agent: It rains.",
        "System: response completed: 1 turn · 9 tokens in · 4 cached · 6 tokens out",
      ]
    `);
  });

  sampled(test, 4).each(FORMAT_NAMES)('%s: odd lines hide no others', async (format) => {
    const items = withEvents([], await eventsOf(format, [...ODD_LINES, ...AGENT_LINES[format]]));
    const known = await shownOf(format);
    expect(items.map(rowText).slice(-3)).toEqual(known.slice(-3));
    expect(items.some((item) => rowText(item).includes('npm warn deprecated'))).toBe(true);
  });
});

describe('changes of files', () => {
  const signed = (name: string, input: object | string) =>
    editsOf(name, typeof input === 'string' ? input : JSON.stringify(input)).map(
      ({ path, lines }) => [path, ...lines.map(({ sign, text }) => sign + text)] as const,
    );

  test('are shown with their signs, as agents send them', () => {
    const replaced = ['a.ts', ' one', '-two', '+TWO', ' three'];
    const [before, after] = ['one\ntwo\nthree', 'one\nTWO\nthree'];
    expect(signed('Edit', { file_path: 'a.ts', old_string: before, new_string: after })).toEqual([replaced]);
    expect(signed('edit', { filePath: 'a.ts', oldString: before, newString: after })).toEqual([replaced]);
    expect(
      signed('MultiEdit', { file_path: 'a.ts', edits: [{ old_string: before, new_string: after }, 7, {}] }),
    ).toEqual([replaced]);
    expect(signed('Write', { file_path: 'b.ts', content: 'x\ny\n' })).toEqual([['b.ts', '+x', '+y']]);
    expect(signed('apply_patch', '*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch')).toEqual([
      ['', ' *** Begin Patch', ' *** Update File: a', '-x', '+y', ' *** End Patch'],
    ]);
    expect(signed('shell', { command: ['apply_patch', '*** Begin Patch\n+y'] })).toEqual([
      ['', ' *** Begin Patch', '+y'],
    ]);
    expect(signed('apply_patch', { changes: [{ path: 'a', diff: '@@ -1 +1 @@\n--- a\n-x\n+y' }] })).toEqual([
      ['a', ' @@ -1 +1 @@', ' --- a', '-x', '+y'],
    ]);
  });

  test('other inputs are no changes', () => {
    expect(signed('Read', { file_path: 'a.ts', content: 'x' })).toEqual([]);
    expect(signed('Bash', { command: 'git diff' })).toEqual([]);
    expect(signed('Edit', { file_path: 7, old_string: 'a', new_string: null, edits: 'x', changes: {} })).toEqual([]);
    expect(signed('Edit', '{"file_path":')).toEqual([]);
  });
});
