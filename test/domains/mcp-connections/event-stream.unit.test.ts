import { expect, test } from 'vitest';
import { parsedJson } from '../../../src/core/outbound/changed-answers.ts';
import { type StreamReading, changedEvents } from '../../../src/domains/mcp-connections/remote/event-stream.ts';

/** What the client package reads of a stream of a server. */

const READING: StreamReading = {
  parse: parsedJson,
  change: (message) => message,
  isLast: (message) => JSON.stringify(message).includes('"result"'),
  failed: () => undefined,
};

const read = (text: string, reading: Partial<StreamReading> = {}) => {
  const { body } = new Response(text);
  if (!body) throw new Error('no body');
  return new Response(changedEvents(body, { ...READING, ...reading })).text();
};

const ping = (id: number) => `data: {"method":"ping","id":${id}}\n\n`;

test('at most a hundred requests of the server, no notifications and comments, and nothing after the response', async () => {
  const pings = Array.from({ length: 400 }, (_, index) => ping(index));
  const others = ': comment\n\ndata: {"method":"notifications/message"}\n\ndata: no JSON\n\nunknown: field\n\n';
  const sent = [...pings, others, 'data: {"id":1,"result":{}}\n\n', 'data: {"id":2,"result":{}}\n\n'];
  expect(await read(sent.join(''))).toBe(`${pings.slice(0, 100).join('')}data: {"id":1,"result":{}}\n\n`);
});

test('ids and the time before a resumption, in one form whatever the line ends, each message in one line', async () => {
  const sent = 'id: 1\rretry: 5\rdata:\r\r: c\revent: message\rx: y\rdata: {"id":1,\rdata: "a":2}\r\rid: 3\r\r';
  expect(await read(sent)).toBe('id: 1\nretry: 5\ndata: \n\nevent: message\ndata: {"id":1,"a":2}\n\nid: 3\ndata: \n\n');
});

test('a message in place of the response when the stream fails, unless it can be resumed', async () => {
  const seen: unknown[] = [];
  const failed = (error: unknown, canResume: boolean) => {
    seen.push([String(error), canResume]);
    return { failed: true };
  };
  expect(await read(':\n\n'.repeat(50_001), { failed })).toBe('data: {"failed":true}\n\n');
  expect(await read(`id: 1\n\n${':\n\n'.repeat(50_000)}`, { failed })).toMatch(/"failed":true/);
  const message = 'OutboundError: it answers with more than 50000 events';
  expect(seen).toEqual([
    [message, false],
    [message, true],
  ]);
});
