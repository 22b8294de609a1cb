import type { TestGateway } from './gateway.ts';

/** What the tests of sessions share: both doors, a runner that records, and readers of the live tail. */

export const PROJECT_ID = '7d444840-9dc0-11d1-b245-5ffdce74fad2';
export const SOURCE_ID = '1c2a7f2e-3b35-4a0e-9a52-0d8f7f2f6a10';
export const REPOSITORY_ID = '0a0f6cf2-92a1-4d5c-8f4b-2a6d2c7d9b11';
export const PULL_REQUEST_ID = '5f2d3a60-6d6c-4b6f-9a7b-3e1d5c9b8a12';

export interface Result {
  readonly __typename: string;
  readonly message?: string;
  readonly code?: string;
  readonly path?: string[] | null;
}

/** What of a gateway records, in this process or another. */
export type GraphQLDoor = Pick<TestGateway, 'graphql'>;

/** Runs a mutation with one input, and gives the member of its result union; a top-level error fails the test. */
export async function mutate<Payload = object>(
  gateway: GraphQLDoor,
  key: string,
  name: string,
  input: object,
  selection = '__typename',
): Promise<Result & Payload> {
  const type = name.charAt(0).toUpperCase() + name.slice(1);
  const query = `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${selection} } ... on Error { message code path } } }`;
  const { data, errors } = await gateway.graphql<Record<string, Result & Payload>>(key, query, { input });
  const result = data?.[name];
  if (!result) throw new Error(`${name}: ${JSON.stringify(errors)}`);
  return result;
}

/** The id of a new session, which belongs to the holder of the key. */
export async function createSession(gateway: GraphQLDoor, key: string, input: object = {}): Promise<string> {
  const payload = await mutate<{ session: { databaseId: string } }>(
    gateway,
    key,
    'createSession',
    { title: 'Mend the test', ...input },
    'session { databaseId }',
  );
  if (!payload.session) throw new Error(JSON.stringify(payload));
  return payload.session.databaseId;
}

export async function moveTo(gateway: GraphQLDoor, key: string, sessionId: string, ...states: string[]): Promise<void> {
  for (const state of states) {
    const result = await mutate(gateway, key, 'transitionSession', { sessionId, state });
    if (result.__typename !== 'TransitionSessionPayload') throw new Error(JSON.stringify(result));
  }
}

export interface Appended extends Result {
  readonly firstId: string;
  readonly lastId: string;
  readonly isReplayed: boolean;
}

export function append(
  gateway: GraphQLDoor,
  key: string,
  sessionId: string,
  events: readonly object[],
  batchId?: string,
): Promise<Appended> {
  return mutate(gateway, key, 'appendSessionEvents', { sessionId, batchId, events }, 'firstId lastId isReplayed');
}

/** Events that can be told apart by `eventData.index`. */
export function eventsOf(
  count: number,
  {
    from = 1,
    ...rest
  }: {
    from?: number;
    eventType?: string;
    provider?: string;
    messageId?: string;
    createdAt?: string;
    data?: object;
  } = {},
) {
  const { data, ...fields } = rest;
  return Array.from({ length: count }, (_, index) => ({
    eventType: 'text',
    provider: 'anthropic',
    ...fields,
    eventData: { type: 'text', index: from + index, ...data },
  }));
}

export interface EventDocument {
  readonly id: number;
  readonly createdAt: string;
  readonly eventType: string;
  readonly messageId: string | null;
  readonly sessionId: string;
  readonly provider: string;
  readonly eventData: { readonly type: string; readonly index?: number };
}

export interface EventPage {
  readonly items: EventDocument[];
  readonly nextCursor: string;
}

/** All events of a session, page by page. */
export async function readAll(
  gateway: TestGateway,
  key: string,
  sessionId: string,
  limit = 100,
  query = '',
): Promise<EventDocument[]> {
  const events: EventDocument[] = [];
  for (let cursor = '0'; ;) {
    const { body } = await gateway.rest<EventPage>(
      'GET',
      `/v1/sessions/${sessionId}/events?limit=${limit}&cursor=${cursor}${query}`,
      { key },
    );
    if (body.items.length === 0) return events;
    events.push(...body.items);
    cursor = body.nextCursor;
  }
}

/** A message of an event stream. A comment has neither id nor event. */
export interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly comment?: string;
}

/** Reads server-sent events, one message at a time, and nothing ahead of what is asked for. */
export class EventStream {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor(response: Response) {
    if (!response.body) throw new Error('there is no stream');
    this.response = response;
    this.#reader = response.body.getReader();
  }

  /** The next message, or undefined at the end. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return messageOf(block);
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** The next that is no comment. */
  async nextData(): Promise<Message | undefined> {
    for (;;) {
      const message = await this.next();
      if (message?.comment === undefined) return message;
    }
  }

  async take(count: number): Promise<Message[]> {
    const messages: Message[] = [];
    while (messages.length < count) {
      const message = await this.nextData();
      if (!message) break;
      messages.push(message);
    }
    return messages;
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }
}

function messageOf(block: string): Message {
  if (block.startsWith(':')) return { comment: block.slice(1).trim() };
  return Object.fromEntries(block.split('\n').map((line) => /^(\w+): ?(.*)$/s.exec(line)?.slice(1, 3) ?? []));
}

/** A gateway in process, or a server: what paths are asked of. */
interface Fetcher {
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export async function tail(
  gateway: Fetcher,
  key: string,
  sessionId: string,
  { query = '', headers = {}, signal }: { query?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<EventStream> {
  const init = { headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', ...headers }, signal };
  return new EventStream(await gateway.fetch(`/v1/sessions/${sessionId}/events${query}`, init));
}

export async function subscribe(
  gateway: Fetcher,
  key: string,
  query: string,
  variables: object,
  signal?: AbortSignal,
): Promise<EventStream> {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', 'Content-Type': 'application/json' };
  return new EventStream(
    await gateway.fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query, variables }), signal }),
  );
}
