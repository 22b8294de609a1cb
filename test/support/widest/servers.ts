import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Handler } from '../peers/mcp-server.ts';
import { placesOf, shapeOfValue } from './places.ts';
import { DEPTH, KINDS } from './wide-values.ts';

/** Answers of MCP servers of the widest kinds. */

interface Message {
  readonly id?: unknown;
  readonly method?: string;
}

/** An answer to a message, after its head. */
export interface WideAnswer {
  readonly name: string;
  readonly status?: number;
  readonly type: 'application/json' | 'text/event-stream' | 'text/plain';
  readonly headers?: Readonly<Record<string, string>>;
  /** The parts that are written one after the other; the message has the id of the request. */
  readonly parts: (message: Message) => Iterable<string>;
}

const RESULT = {
  content: [{ type: 'text', text: 'a' }],
  structuredContent: { a: 1 },
  tools: [{ name: 'add', description: 'a', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }],
  _meta: { a: 1 },
};

const messageOf = (message: Message, result: string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(message.id ?? null)},"result":${result}}`;

/** Each kind at some place of a result, as JSON or as an event. */
export function wideResults(bytes: number): WideAnswer[] {
  const places = [...placesOf(RESULT, shapeOfValue(RESULT))];
  return KINDS.map((kind, index): WideAnswer => {
    const fitting = places.filter(({ takes }) => takes.includes(kind.takes));
    const place = fitting[index % fitting.length];
    const result = place?.fill(kind.json(bytes, place.target)) ?? '{}';
    const isEvent = index % 2 === 0;
    return {
      name: `${place?.path}: ${kind.takes}, ${kind.name}, ${isEvent ? 'an event' : 'JSON'}`,
      type: isEvent ? 'text/event-stream' : 'application/json',
      parts: (message) => [isEvent ? `data: ${messageOf(message, result)}\n\n` : messageOf(message, result)],
    };
  });
}

const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
const END = (message: Message) => `data: ${messageOf(message, '{"content":[]}')}\n\n`;

/** Streams and answers that are not results. */
export function wideStreams(bytes: number): WideAnswer[] {
  const stream = (name: string, part: string): WideAnswer => ({
    name,
    type: 'text/event-stream',
    parts: (message) => [part.repeat(Math.floor(bytes / part.length)), `\n\n${END(message)}`],
  });
  const plain = (name: string, body: string, more: Partial<WideAnswer> = {}): WideAnswer => ({
    name,
    type: 'application/json',
    parts: () => [body],
    ...more,
  });
  const long = 'a'.repeat(bytes);
  return [
    stream('newlines', '\n'),
    stream('carriage returns', '\r'),
    stream('line ends', '\r\n'),
    stream('empty events', 'data:\n\n'),
    stream('tiny events', 'data:1\n\n'),
    stream('events with ids', 'id:1\ndata:{}\n\n'),
    stream('lines of one event', 'data:1\n'),
    stream('comments', ':\n'),
    stream('one comment', ':'),
    stream('times of retries', 'retry:1\n\n'),
    stream('names of events', 'event:a\n'),
    stream('fields without a value', 'data\n'),
    stream('notifications', `data: ${PROGRESS}\n\n`),
    stream('byte order marks', '\ufeff\n'),
    stream('one long line', 'data: a'),
    {
      name: 'many small writes',
      type: 'text/event-stream',
      parts: function* (message) {
        for (let index = 0; index < 20_000; index += 1) yield 'data: 1\n\n';
        yield END(message);
      },
    },
    { ...stream('an event that does not end', ''), parts: () => [`data: ${long}`] },
    plain('white space', ' '.repeat(bytes)),
    plain('depth', `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`),
    plain('a batch', `[${`${PROGRESS},`.repeat(bytes / (PROGRESS.length + 1))}${PROGRESS}]`),
    plain('numbers', `[${'1,'.repeat(bytes / 2 - 10)}1]`),
    plain('a text', long, { type: 'text/plain' }),
    plain('an error page', '<p>'.repeat(bytes / 3), { status: 500, type: 'text/plain' }),
    plain('a long challenge', '{}', {
      status: 401,
      headers: { 'WWW-Authenticate': `Bearer ${'a="b",'.repeat(2_000)}` },
    }),
    plain('an error with a long message', `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"${long}"}}`),
    plain('a long session id', '{}', { headers: { 'Mcp-Session-Id': 'a'.repeat(12_000) } }),
  ];
}

/** A small answer to every message. */
export const SMALL: WideAnswer = {
  name: 'little',
  type: 'application/json',
  parts: (message) => [messageOf(message, JSON.stringify(RESULT))],
};

/** Pages of tools without an end. */
export const ENDLESS: WideAnswer = {
  name: 'pages without an end',
  type: 'application/json',
  parts: (message) => [
    messageOf(message, '{"tools":[{"name":"add","inputSchema":{"type":"object"}}],"nextCursor":"a"}'),
  ],
};

/** A server that gives this answer to all messages except those that open a session. */
export function wideServer(answer: WideAnswer): Handler {
  return (request, response) => void text(request).then((body) => reply(answer, messageIn(body), response));
}

function messageIn(body: string): Message {
  try {
    return JSON.parse(body) as Message;
  } catch {
    return {};
  }
}

async function reply(answer: WideAnswer, message: Message, response: ServerResponse): Promise<void> {
  if (message.method === 'initialize') {
    const usual =
      '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}';
    return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(messageOf(message, usual));
  }
  if (message.method === 'server/discover') return void response.writeHead(400).end();
  if (message.method?.startsWith('notifications/')) return void response.writeHead(202).end();
  response.writeHead(answer.status ?? 200, { 'Content-Type': answer.type, ...answer.headers });
  for (const part of answer.parts(message)) {
    if (response.destroyed) return;
    if (!response.write(part))
      await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  response.end();
}
