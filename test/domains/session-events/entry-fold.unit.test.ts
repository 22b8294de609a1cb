import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contentOf } from '../../../src/domains/session-events/entry-content.ts';
import { type EntryChange, EntryFold } from '../../../src/domains/session-events/entry-fold.ts';
import type { FormatName } from '../../../src/domains/session-events/formats/names.ts';
import { separated } from '../../../src/domains/session-events/framing.ts';
import { convertAll, dataOf } from '../../support/fixtures/converted-lines.ts';
import { anyEventData } from '../../support/fixtures/any-event-data.ts';
import { RECORDED } from '../../support/fixtures/recordings.ts';
import { type ModelEntry, type ModelEvent, modelOf } from '../../support/oracles/entry-model.ts';

const AT = { createdAt: '2030-01-01T00:00:00.000Z', messageId: null };

/** Folds the events in batches, and merges what changes as the tables do. */
function folded(events: readonly ModelEvent[], size: () => number): ModelEntry[] {
  const entries = new Map<number, EntryChange>();
  let memory: string | null = null;
  for (let start = 0; start < events.length;) {
    const fold = new EntryFold(memory);
    const end = start + size();
    for (const event of events.slice(start, end)) fold.add({ ...event, data: { ...event.data } });
    for (const [id, change] of fold.changes) {
      const before = entries.get(id);
      const parts = change.isWhole ? change.parts : [...(before?.parts ?? []), ...change.parts];
      entries.set(id, { ...before, ...change, parts, events: [...(before?.events ?? []), ...change.events] });
    }
    memory = fold.memory;
    start = end;
  }
  const dataAt = (id: number) => ({ ...events.find((event) => event.id === id)?.data });
  return [...entries.values()]
    .toSorted((one, other) => one.id - other.id)
    .map(({ id, begin, events: ids, ...entry }) => {
      if (!begin) throw new Error(`entry ${id} has no beginning`);
      const { kind, turn, subagentId } = begin;
      const content = contentOf(kind, entry.parts.map(dataAt), dataAt(entry.outputId ?? 0));
      return {
        id,
        kind,
        turn,
        subagentId,
        events: ids,
        isFailed: entry.failed !== undefined,
        isFinal: kind === 'agentMessage' && (entry.isFinal ?? false),
        text: kind === 'note' ? '' : content.text,
        output: kind === 'toolCall' ? content.output : '',
        toolName: entry.toolName ?? null,
      };
    });
}

const numbered = async (format: FormatName, lines: Parameters<typeof convertAll>[1]): Promise<ModelEvent[]> =>
  (await convertAll(format, lines)).flat().map((event, index) => ({
    id: index + 1,
    createdAt: event.createdAt ?? AT.createdAt,
    messageId: event.messageId,
    data: dataOf(event),
  }));

const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 9 }));

test.each(RECORDED)('%s: entries are those of the model, in batches of any size', async (_, format, lines) => {
  const events = await numbered(format, lines);
  const model = modelOf(events);
  expect(folded(events, () => events.length)).toEqual(model);
  fc.assert(
    fc.property(sizes, (some) => {
      expect(folded(events, () => some.next().value ?? 1)).toEqual(model);
    }),
    { numRuns: 10 },
  );
});

test('whatever the events, entries are those of the model, in batches of any size', () => {
  fc.assert(
    fc.property(fc.array(anyEventData, { maxLength: 30, size: 'max' }), sizes, (given, some) => {
      const events = given.map((data, index): ModelEvent => ({ id: index + 1, ...AT, data }));
      expect(folded(events, () => some.next().value ?? 1)).toEqual(modelOf(events));
    }),
    { numRuns: 300 },
  );
});

const foldOf = (data: readonly object[]) => {
  const events = data.map((each, index): ModelEvent => ({ id: index + 1, ...AT, data: { type: 'x', ...each } }));
  return folded(events, () => 1);
};

test.each([
  ['a text', { accumulatedText: 'Done.' }, [['Done.'], ['Done.']]],
  ['the result of the run', { type: 'result', accumulatedText: 'Done.' }, [['Done.']]],
])('of an agent without ids, %s that repeats the last one after the end of its turn', (_, again, texts) => {
  const said = { source: 'assistant', accumulatedText: 'Done.' };
  const within = foldOf([said, { ...said, ...again }]);
  expect(within.map(({ text }) => text)).toEqual(['Done.']);
  const after = foldOf([said, { usage: { turns: 1 } }, { ...said, ...again }]);
  expect(after.map(({ text }) => [text])).toEqual(texts);
});

test('calls of two subagents with the same id are two, and another agent can report the end of an open one', () => {
  const call = { itemId: 't1', toolName: 'Bash' };
  const by = (parentToolUseId: string) => ({ scope: { kind: 'subagent', parentToolUseId } });
  const ended = (output: string) => ({ itemId: 't1', toolResult: { status: 'completed', output } });
  const entries = foldOf([
    { ...call, accumulatedText: 'ls a', ...by('a') },
    { ...call, accumulatedText: 'ls b', ...by('b') },
    { ...ended('of b'), ...by('b') },
    ended('of a'),
    { ...call, ...ended('of c'), ...by('c') },
  ]);
  expect(entries.map(({ subagentId, events, text, output }) => [subagentId, events, text, output])).toEqual([
    ['a', [1, 4], 'ls a', 'of a'],
    ['b', [2, 3], 'ls b', 'of b'],
    ['c', [5], '', 'of c'],
  ]);
});

test('what is remembered is bounded', () => {
  const fold = new EntryFold();
  for (let id = 1; id <= 5000; id += 1) {
    const scope = { kind: 'subagent', parentToolUseId: `call ${id % 700}` };
    const data = { type: 'x', itemId: `i${id}`, toolName: 'Bash', toolResult: { status: 'running' }, scope };
    fold.add({ id, ...AT, data });
  }
  expect(fold.memory.length).toBeLessThan(40_000);
});

test.each([
  ['Fix it', '', 'Fix it'],
  [
    '<system-reminder>\nBe brief.\n</system-reminder>\nFix it',
    '<system-reminder>\nBe brief.\n</system-reminder>',
    'Fix it',
  ],
  ['Fix it\n<ide_opened_file>a.ts</ide_opened_file>', '<ide_opened_file>a.ts</ide_opened_file>', 'Fix it'],
  [
    '<command-name>/x</command-name>\n<command-args></command-args>',
    '<command-name>/x</command-name>\n<command-args></command-args>',
    '',
  ],
  ['Why <b>bold</b>', '', 'Why <b>bold</b>'],
])('of %j the words are separated from the framing', (text, framing, words) => {
  expect(separated(text)).toEqual({ framing, words });
});
