import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventSplitter, type ReceivedEvent, withData } from '../../../src/core/outbound/event-splitter.ts';

const TOO_MANY = new Error('too many events');

async function eventsOf(chunks: readonly (string | Uint8Array)[]): Promise<ReceivedEvent[]> {
  const splitter = new EventSplitter(() => TOO_MANY);
  const events: ReceivedEvent[] = [];
  for (const chunk of chunks) for await (const event of splitter.push(Buffer.from(chunk))) events.push(event);
  const last = splitter.end();
  return last ? [...events, last] : events;
}

const shown = ({ data, fields }: ReceivedEvent) => ({ ...Object.fromEntries(fields), data });

/** The events in a text by the rules of the specification, over the whole text. */
function expectedIn(text: string) {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .replace(/\n$/, '')
    .split('\n');
  const events: Record<string, string | undefined>[] = [];
  let current: Record<string, string | undefined> | undefined;
  for (const line of [...lines, '']) {
    if (line === '') {
      if (current) events.push({ ...current, data: current['data'] });
      current = undefined;
      continue;
    }
    current ??= {};
    const [, name = line, value = ''] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') current['data'] = current['data'] === undefined ? value : `${current['data']}\n${value}`;
    else if (['event', 'id', 'retry'].includes(name)) current[name] = value;
  }
  return events;
}

const PIECES = [
  'data: a', 'data:b', 'data', 'data:  c', 'database: x', ' data: y', 'id: 1', 'id', 'idx: 1', 'event: message', 'retry: 5',
  ': comment', ':', 'größe 𝄞', 'x', '\n', '\n\n', '\r', '\r\r', '\r\n', '\r\n\r\n', 'data: {"a":1}',
]; // prettier-ignore

describe('a stream of server-sent events', () => {
  test('is split as the specification says, whatever its line ends and chunks, and its bytes are kept', async () => {
    const anyText = fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(anyText, fc.boolean(), fc.array(fc.nat(60)), async (some, withMark, cuts) => {
        const text = withMark ? `\uFEFF${some}` : some;
        const bytes = Buffer.from(text);
        const ends = [...cuts.filter((cut) => cut <= bytes.length), bytes.length].toSorted((a, b) => a - b);
        const events = await eventsOf(ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)));
        expect(Buffer.concat(events.map((event) => event.bytes)).toString()).toBe(text);
        const withText = events.filter((event) => /[^\r\n\uFEFF]/.test(event.bytes.toString()));
        expect(withText.map(shown)).toEqual(expectedIn(text));
      }),
      { numRuns: 500 },
    );
  });

  test.each(['\n', '\r', '\r\n'])(
    'empty lines (%j) are no events: a million of them belong to the next one',
    async (end) => {
      const [event, ...others] = await eventsOf([end.repeat(1_000_000), `data: a${end}${end}`]);
      expect([event?.data, event?.bytes.length, others]).toEqual(['a', 1_000_002 * end.length + 7, []]);
    },
  );

  test('has at most 50,000 events', async () => {
    expect((await eventsOf(['data: 1\n\n'.repeat(50_000)])).length).toBe(50_000);
    await expect(eventsOf(['data: 1\n\n'.repeat(50_001)])).rejects.toBe(TOO_MANY);
    await expect(eventsOf([':\r\r'.repeat(50_001)])).rejects.toBe(TOO_MANY);
  });

  test('lets others run between events that take long', async () => {
    let ticks = 0;
    let isOver = false;
    const tick = () => {
      ticks += 1;
      if (!isOver) setImmediate(tick);
    };
    setImmediate(tick);
    const splitter = new EventSplitter(() => TOO_MANY);
    const seen: number[] = [];
    for await (const { data } of splitter.push(Buffer.from('data: 1\n\n'.repeat(3)))) {
      expect(data).toBe('1');
      seen.push(ticks);
      for (const end = performance.now() + 11; performance.now() < end;);
    }
    isOver = true;
    expect(seen[2]).toBeGreaterThan(seen[1] ?? Infinity);
  });
});

test('an event with other data keeps its other fields', async () => {
  const [event] = await eventsOf(['event: message\r\nid: 7\r\nid: 8\r\ndata: a\r\ndata: b\r\n: c\r\n\r\n']);
  expect(event && withData(event, '{}')).toBe('event: message\nid: 8\ndata: {}\n\n');
});
