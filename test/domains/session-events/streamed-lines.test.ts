import { beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession, readAll } from '../../support/fixtures/sessions.ts';
import { STREAMING_FORMATS, type StreamingFormat, streamedMessage } from '../../support/fixtures/streamed-messages.ts';
import { modelOf } from '../../support/oracles/entry-model.ts';
import { sampled } from '../../support/sample.ts';

/** Messages that an agent writes in parts: the parts are live, and the text so far is stored at its end and every 32 KiB. */

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

interface Data {
  readonly accumulatedText?: string;
  readonly delta?: string;
}

async function record(format: StreamingFormat, lines: readonly string[], perRequest = Infinity) {
  const id = await createSession(gateway, key);
  for (let from = 0; from < lines.length; from += perRequest) {
    const { status } = await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      body: lines.slice(from, from + perRequest).join('\n'),
      headers: { 'Content-Type': `application/x-ndjson; format=${format}` },
    });
    expect(status).toBe(201);
  }
  const events = await readAll(gateway, key, id, 1000);
  const data = events.map(({ eventData }) => eventData as unknown as Data);
  const [row] = await gateway.dependencies.sql.query<{ bytes: number }>(
    'select sum(octet_length(event_data::text))::int as bytes from session_event where session_id = $1',
    [id],
  );
  return { id, events, data, bytes: row?.bytes ?? 0, sent: Buffer.byteLength(lines.join('\n')) };
}

const wholeTexts = (data: readonly Data[]) => data.flatMap(({ accumulatedText }) => accumulatedText ?? []);
const partsOf = (data: readonly Data[]) => data.flatMap(({ delta }) => delta ?? []);

type Stored = Awaited<ReturnType<typeof readAll>>;
const entriesOf = (events: Stored) => modelOf(events.map((event) => ({ ...event, data: event.eventData })));

/** What entries have of a message that is still being written. */
const shownOf = (events: Stored): string[] =>
  entriesOf(events).flatMap(({ kind, text }) => (kind === 'agentMessage' || kind === 'thinking' ? [text] : []));

sampled(test, 2).each(STREAMING_FORMATS)('%s: a message of 20,000 characters in 5,000 parts', async (format) => {
  const parts = Array.from({ length: 5000 }, (_, index) => String(index).padStart(4, ' '));
  const { lines, text } = streamedMessage(format, parts);
  const { id, events, data, bytes, sent } = await record(format, lines);
  expect(wholeTexts(data)).toEqual([text]);
  expect(partsOf(data)).toEqual(parts);
  expect(bytes).toBeLessThan(2.5 * 1024 * 1024);
  expect(bytes).toBeLessThan(4 * sent + 256 * events.length);
  // Before the end, the parts are the message.
  expect(shownOf(events.slice(0, -2))).toEqual([text.slice(0, shownOf(events.slice(0, -2))[0]?.length)]);
  expect(shownOf(events)).toEqual([text]);
  const markdown = await gateway.fetch(`/v1/sessions/${id}/export?format=markdown`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect((await markdown.text()).split(text)).toHaveLength(2);
});

sampled(test, 2).each(STREAMING_FORMATS)(
  '%s: a long text is stored again every 32 KiB, whatever the requests',
  async (format) => {
    const parts = Array.from({ length: 1600 }, (_, index) => `${index} `.padEnd(64, 'word '));
    const { lines, text } = streamedMessage(format, parts);
    const together = await record(format, lines);
    const inParts = await record(format, lines, 400);
    for (const { data, bytes, sent, events } of [together, inParts]) {
      expect(wholeTexts(data)).toEqual([32, 64, 96, 100].map((kib) => text.slice(0, kib * 1024)));
      expect(partsOf(data)).toEqual(parts);
      expect(bytes).toBeLessThan(4 * sent + 256 * events.length);
    }
  },
);

test('a text that is too long to be repeated is whole in its parts', async () => {
  const parts = Array.from({ length: 40 }, (_, index) => String(index).padEnd(10_000, '.'));
  const { lines } = streamedMessage('gemini', parts);
  const { data, bytes, sent, events } = await record('gemini', lines);
  expect(partsOf(data)).toEqual(parts);
  expect(wholeTexts(data).every((text) => text.length <= 120_000)).toBe(true);
  expect(bytes).toBeLessThan(4 * sent + 256 * events.length);
});

test('parts of a tool input are live, and shown until the whole input comes', async () => {
  const event = (name: string, fields: object) =>
    JSON.stringify({ type: 'stream_event', event: { type: name, index: 1, ...fields } });
  const { events } = await record('claude', [
    event('message_start', { message: { id: 'm' } }),
    event('content_block_start', { content_block: { type: 'tool_use', id: 't', name: 'Bash' } }),
    ...['{"command":', '"ls"}'].map((json) =>
      event('content_block_delta', { delta: { type: 'input_json_delta', partial_json: json } }),
    ),
  ]);
  const [entry] = entriesOf(events);
  expect(entry).toMatchObject({ kind: 'toolCall', toolName: 'Bash', text: '{"command":"ls"}' });
});
