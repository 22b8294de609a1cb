import fc from 'fast-check';
import { expect, test } from 'vitest';
import { convertLines } from '../../../../src/domains/session-events/line-converter.ts';
import type { RecordedEvent } from '../../../../src/domains/session-events/event-data.ts';
import { FormatMemory } from '../../../../src/domains/session-events/formats/format-memory.ts';
import { FORMAT_NAMES, type FormatName } from '../../../../src/domains/session-events/formats/names.ts';
import { WIDE_LINES, wideLine } from '../../../support/fixtures/wide-lines.ts';
import { sampled } from '../../../support/sample.ts';

/** Whatever a line is, it is kept, and what it becomes is bounded: events, stored bytes, and what the format remembers. */

interface Data {
  readonly event?: { readonly message: string };
  readonly line?: { readonly event: number; readonly parts?: number; readonly encoding?: 'base64' };
}
const dataOf = ({ eventData }: RecordedEvent) => JSON.parse(eventData) as Data;

/** The lines, put together from their events. */
function linesIn(events: readonly RecordedEvent[]): string[] {
  const lines: { text: string; encoding: BufferEncoding }[] = [];
  for (const { event, line } of events.map(dataOf)) {
    const { event: number = 1, parts = 1, encoding = 'utf8' } = line ?? {};
    if (number === 1) lines.push({ text: event?.message ?? '', encoding });
    else if (number <= parts) lines.push({ text: `${lines.pop()?.text}${event?.message}`, encoding });
  }
  return lines.map(({ text, encoding }) => (encoding === 'base64' ? Buffer.from(text, encoding).toString() : text));
}

const STORABLE = (line: string) => line.toWellFormed();

async function boundsOf(format: FormatName, lines: readonly string[]): Promise<object> {
  const memory = new FormatMemory();
  const events = await convertLines(format, lines, memory);
  const sent = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  const stored = events.reduce((sum, { eventData }) => sum + Buffer.byteLength(eventData), 0);
  const kept = linesIn(events);
  return {
    lost: lines.map(STORABLE).filter((line, index) => kept[index] !== line),
    stored: stored <= 4 * sent + 256 * events.length || stored / sent,
    events: events.length <= 10_000 || events.length,
    memory: Buffer.byteLength(memory.toJson()) <= 1024 * 1024,
  };
}
const WITHIN = { lost: [], stored: true, events: true, memory: true };

sampled(test, 3).each(FORMAT_NAMES)(
  '%s: lines of its agent with a value that is as wide as possible',
  async (format) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(wideLine(format), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 5 }),
        async (lines, times) => {
          const repeated = Array.from({ length: times }, () => lines).flat();
          expect(await boundsOf(format, repeated)).toEqual(WITHIN);
        },
      ),
      { numRuns: 20 },
    );
  },
);

sampled(test, 3).each(FORMAT_NAMES)('%s: lines that are wide in any other way', async (format) => {
  expect(await boundsOf(format, WIDE_LINES)).toEqual(WITHIN);
});

test('several wide lines have at most 10,000 events together, of which each line has at least one', async () => {
  const wide = JSON.stringify({
    type: 'user',
    message: { content: Array.from({ length: 6000 }, () => ({ type: 'text', text: 'said' })) },
  });
  const small = Array.from({ length: 5000 }, (_, n) => `{"type":"system","n":${n}}`);
  expect(await boundsOf('claude', [wide, ...small, wide, ...small.slice(1000)])).toEqual(WITHIN);
  const events = await convertLines('claude', [wide, wide], new FormatMemory());
  expect(events.map(({ eventType }) => eventType).filter((type) => type === 'user')).toHaveLength(6000);
});

test('a remembered name is not stored with every later line', async () => {
  const delta = { type: 'input_json_delta', partial_json: '1' };
  const lines = [
    { type: 'stream_event', event: { type: 'message_start', message: { id: 'm' } } },
    {
      type: 'stream_event',
      event: { type: 'content_block_start', content_block: { id: 't', name: 'n'.repeat(100_000) } },
    },
    ...Array.from({ length: 2000 }, () => ({ type: 'stream_event', event: { type: 'content_block_delta', delta } })),
  ].map((line) => JSON.stringify(line));
  expect(await boundsOf('claude', lines)).toEqual(WITHIN);
});

test('the usage of a line that is kept as it is counts', async () => {
  // A byte that is no UTF-8 was sent for each character.
  const line = JSON.stringify({ type: 'result', result: '\uFFFD'.repeat(5000), usage: { input_tokens: 5 } });
  const events = await convertLines('claude', [line], new FormatMemory());
  expect(events.map(({ eventData }) => (JSON.parse(eventData) as { usage?: object }).usage).filter(Boolean)).toEqual([
    { inputTokens: 5 },
  ]);
  expect(events[0]?.eventType).toBe('line');
});

test('memory is bounded: the oldest texts are forgotten first, and that of earlier versions is read', async () => {
  const memory = FormatMemory.parse(
    JSON.stringify({
      texts: { long: 'x'.repeat(3_000_000), gone: null, known: 'Hel' },
      tools: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`t${n}`, 'n'.repeat(n)])),
      cost: { run: 'r', usd: 1 },
    }),
  );
  expect([memory.get('cost'), memory.endText('known'), memory.endText('long')]).toEqual([
    { run: 'r', usd: 1 },
    'Hel',
    undefined,
  ]);
  for (let item = 0; item < 200; item += 1) memory.addPart(`text-${item}`, '\u0001'.repeat(10_000));
  expect(Buffer.byteLength(memory.toJson())).toBeLessThan(1024 * 1024);
  expect([memory.endText('text-0'), memory.endText('text-199')?.length]).toEqual([undefined, 10_000]);
});
