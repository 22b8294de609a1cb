import fc from 'fast-check';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { contentOf } from '../../../src/domains/session-events/entry-content.ts';
import { type EntryChange, EntryFold } from '../../../src/domains/session-events/entry-fold.ts';
import { FORMAT_NAMES, type FormatName } from '../../../src/domains/session-events/formats/names.ts';
import { separated } from '../../../src/domains/session-events/framing.ts';
import { AGENT_LINES } from '../../support/fixtures/agent-lines.ts';
import { convertAll, dataOf } from '../../support/fixtures/converted-lines.ts';
import { type ModelEntry, type ModelEvent, modelOf } from '../../support/oracles/entry-model.ts';

const RECORDINGS = new URL('../../support/fixtures/recordings/', import.meta.url);
/** More recordings can be given: `RECORDINGS="claude-transcript@file codex@file"`. */
const given = (process.env['RECORDINGS'] ?? '')
  .split(' ')
  .filter(Boolean)
  .map((each) => each.split('@'));
const linesIn = (file: string | URL) => readFileSync(file, 'utf8').split('\n').filter(Boolean);
const recorded: [name: string, format: FormatName, lines: (typeof AGENT_LINES)[FormatName]][] = [
  ...FORMAT_NAMES.map((format): (typeof recorded)[number] => [`lines of ${format}`, format, AGENT_LINES[format]]),
  ...readdirSync(RECORDINGS).map((name): (typeof recorded)[number] => [
    `recording ${name}`,
    (name === 'qwen.ndjson' ? 'claude' : name.replace('.ndjson', '')) as FormatName,
    linesIn(new URL(name, RECORDINGS)),
  ]),
  ...given.map(([format = '', file = '']): (typeof recorded)[number] => [file, format as FormatName, linesIn(file)]),
];

/** Folds the events in batches, and merges what changes as the tables do. */
function folded(events: readonly ModelEvent[], sizes: () => number): ModelEntry[] {
  const entries = new Map<number, EntryChange>();
  let memory: string | null = null;
  for (let start = 0; start < events.length;) {
    const fold = new EntryFold(memory);
    const end = start + sizes();
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
        isFailed: entry.isFailed ?? false,
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
    createdAt: event.createdAt ?? '2030-01-01T00:00:00.000Z',
    messageId: event.messageId,
    data: dataOf(event),
  }));

test.each(recorded)('%s: entries are those of the model, in batches of any size', async (_, format, lines) => {
  const events = await numbered(format, lines);
  const model = modelOf(events);
  expect(folded(events, () => events.length)).toEqual(model);
  fc.assert(
    fc.property(fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (sizes) => {
      expect(folded(events, () => sizes.next().value ?? 1)).toEqual(model);
    }),
    { seed: 7, numRuns: 10 },
  );
});

test('what is remembered is bounded', () => {
  const fold = new EntryFold();
  for (let id = 1; id <= 5000; id += 1) {
    const scope = { kind: 'subagent', parentToolUseId: `call ${id % 700}` };
    const data = { type: 'x', itemId: `i${id}`, toolName: 'Bash', toolResult: { status: 'running' }, scope };
    fold.add({ id, createdAt: '2030-01-01T00:00:00.000Z', messageId: null, data });
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
