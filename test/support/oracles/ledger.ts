import { setTimeout as delay } from 'node:timers/promises';
import { random } from '../random.ts';

/** Sends a request to any gateway that is currently running. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Writers that retry each write until it is acknowledged, as clients should, and remember all acknowledged writes. */
export interface Ledger {
  readonly acknowledged: () => number;
  /** Resolves after this many further writes were acknowledged, or attempts answered with 503. */
  next(times: number, what?: 'acknowledged' | '503'): Promise<void>;
  /** Number of answers for each status; `no answer` for lost connections. */
  readonly answers: ReadonlyMap<string, number>;
  /** Answers that are neither success nor a clear refusal. */
  readonly unclear: readonly string[];
  /** Resolves when every started write is acknowledged. */
  stop(): Promise<void>;
  /** Reads all acknowledged writes back, even while the writers continue. */
  check(): Promise<{ readonly lost: string[]; readonly doubled: string[] }>;
}

interface Batch {
  readonly sessionId: string;
  readonly firstId: number;
  readonly marks: readonly string[];
}

const KINDS = ['definition', 'session', 'append', 'append'] as const;
const DEFINITIONS = '/events/2026-03/event-definitions';

const CREATE = `mutation($title: String!) { createSession(input: {title: $title}) {
  ... on CreateSessionPayload { session { databaseId } } ... on Error { message } } }`;
const APPEND = `mutation($input: AppendSessionEventsInput!) { appendSessionEvents(input: $input) {
  ... on AppendSessionEventsPayload { firstId lastId } ... on Error { message } } }`;
const SESSIONS = `query($after: String) { viewer { organization { sessions(first: 100, after: $after) {
  nodes { databaseId title } pageInfo { hasNextPage endCursor } } } } }`;

/** Two ledgers that use the same key need different prefixes for their data. */
export function startWriting(send: Send, key: string, { writers = 8, seed = 1, prefix = 'w' } = {}): Ledger {
  const answers = new Map<string, number>();
  const unclear: string[] = [];
  const definitions: string[] = [];
  const sessions: string[] = [];
  const batches: Batch[] = [];
  const waitingFor = new Set<{ readonly what: string; times: number; readonly resolve: () => void }>();
  /** The demo workspace has sessions with the same title. */
  const isWrittenHere = new RegExp(`^${prefix}\\d+(_\\d+)?$`);
  let isStopped = false;
  let count = 0;

  async function post<Body>(path: string, body: unknown, idempotencyKey?: string): Promise<Body | undefined> {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }),
    };
    let response: Response;
    let text: string;
    try {
      response = await send(path, { method: 'POST', headers, body: JSON.stringify(body) });
      text = await response.text();
    } catch {
      record('no answer');
      return undefined;
    }
    record(String(response.status));
    if (response.status < 300 && !text.includes('"errors":[{')) return JSON.parse(text) as Body;
    const isClear =
      (response.status === 503 && response.headers.has('retry-after')) ||
      // The first attempt may still run where nobody waits for it any more.
      text.includes('a request with this key is still running');
    if (!isClear) unclear.push(`${response.status} ${text.slice(0, 300)}`);
    return undefined;
  }

  function record(answer: string): void {
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
    notify(answer);
  }

  function notify(what: string): void {
    for (const waiting of waitingFor) {
      if (waiting.what !== what || (waiting.times -= 1) > 0) continue;
      waitingFor.delete(waiting);
      waiting.resolve();
    }
  }

  async function until<Done>(attempt: () => Promise<Done | undefined>): Promise<Done> {
    for (;;) {
      const done = await attempt();
      if (done !== undefined) {
        count += 1;
        notify('acknowledged');
        return done;
      }
      await delay(50);
    }
  }

  const define = (label: string) =>
    until(() => post(DEFINITIONS, { name: label, label, primaryObject: 'CONTACT' }, `define ${label}`));

  async function createSession(title: string): Promise<string> {
    type Created = { data: { createSession: { session?: { databaseId: string }; message?: string } } };
    const { data } = await until(() =>
      post<Created>('/graphql', { query: CREATE, variables: { title } }, `create ${title}`),
    );
    if (!data.createSession.session) throw new Error(data.createSession.message);
    sessions.push(title);
    return data.createSession.session.databaseId;
  }

  async function append(sessionId: string, batchId: string, size: number): Promise<void> {
    const marks = Array.from({ length: size }, (_, index) => `${batchId}.${index}`);
    const events = marks.map((mark) => ({
      eventType: 'text',
      provider: 'anthropic',
      eventData: { type: 'text', mark },
    }));
    type Appended = { data: { appendSessionEvents: { firstId?: string; message?: string } } };
    const { data } = await until(() =>
      post<Appended>('/graphql', { query: APPEND, variables: { input: { sessionId, batchId, events } } }),
    );
    const { firstId, message } = data.appendSessionEvents;
    if (firstId === undefined) throw new Error(message);
    batches.push({ sessionId, firstId: Number(firstId), marks });
  }

  async function write(writer: number): Promise<void> {
    const next = random(seed * 1000 + writer);
    const sessionId = await createSession(`${prefix}${writer}`);
    for (let index = 0; !isStopped; index += 1) {
      const mark = `${prefix}${writer}_${index}`;
      const kind = KINDS[Math.floor(next() * KINDS.length)];
      if (kind === 'definition') await define(mark).then(() => definitions.push(mark));
      else if (kind === 'session') await createSession(mark);
      else await append(sessionId, mark, 1 + Math.floor(next() * 5));
    }
  }

  async function read<Body>(path: string, init: RequestInit = {}): Promise<Body> {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    for (;;) {
      const response = await send(path, { headers, ...init });
      const text = await response.text();
      if (response.status === 200) return JSON.parse(text) as Body;
      if (response.status !== 503) throw new Error(`${path}: ${response.status} ${text}`);
      await delay(100);
    }
  }

  async function storedDefinitions(): Promise<string[]> {
    type Page = { results: { name: string }[]; paging?: { next: { after: string } } };
    const names: string[] = [];
    for (let after = ''; ;) {
      const page = await read<Page>(`${DEFINITIONS}?limit=500${after}`);
      names.push(...page.results.map(({ name }) => name));
      if (!page.paging) return names;
      after = `&after=${encodeURIComponent(page.paging.next.after)}`;
    }
  }

  async function storedSessions(): Promise<string[]> {
    type Connection = {
      nodes: { title: string }[];
      pageInfo: { hasNextPage: boolean; endCursor: string };
    };
    const titles: string[] = [];
    for (let after: string | null = null; ;) {
      const body: string = JSON.stringify({ query: SESSIONS, variables: { after } });
      const { data } = await read<{ data: { viewer: { organization: { sessions: Connection } } } }>('/graphql', {
        method: 'POST',
        body,
      });
      const { nodes, pageInfo } = data.viewer.organization.sessions;
      titles.push(...nodes.map(({ title }) => title).filter((title) => isWrittenHere.test(title)));
      if (!pageInfo.hasNextPage) return titles;
      after = pageInfo.endCursor;
    }
  }

  async function storedEvents(sessionId: string): Promise<{ id: number; eventData: { mark: string } }[]> {
    type Page = { items: { id: number; eventData: { mark: string } }[]; nextCursor: string };
    const events: Page['items'] = [];
    for (let cursor = '0'; ;) {
      const page = await read<Page>(`/v1/sessions/${sessionId}/events?limit=1000&cursor=${cursor}`);
      if (page.items.length === 0) return events;
      events.push(...page.items);
      cursor = page.nextCursor;
    }
  }

  const work = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  // A failure of a writer is thrown by `stop`.
  work.catch(() => undefined);

  return {
    acknowledged: () => count,
    async next(times, what = 'acknowledged') {
      const { promise, resolve } = Promise.withResolvers<void>();
      waitingFor.add({ what, times, resolve });
      // A failed writer also ends the wait.
      await Promise.race([promise, work]);
    },
    answers,
    unclear,
    async stop() {
      isStopped = true;
      await work;
    },
    async check() {
      const lost: string[] = [];
      const doubled: string[] = [];
      const compare = (what: string, written: readonly string[], stored: readonly string[]) => {
        const counts = new Map<string, number>();
        for (const name of stored) counts.set(name, (counts.get(name) ?? 0) + 1);
        for (const name of written) if (!counts.has(name)) lost.push(`${what} ${name}`);
        for (const [name, times] of counts) if (times > 1) doubled.push(`${what} ${name}`);
      };
      // Copied before anything is read, because the writers may continue.
      const before = { definitions: [...definitions], sessions: [...sessions], batches: [...batches] };
      compare('definition', before.definitions, await storedDefinitions());
      compare('session', before.sessions, await storedSessions());
      for (const [sessionId, written] of Map.groupBy(before.batches, (batch) => batch.sessionId)) {
        const events = await storedEvents(sessionId);
        compare(
          'event',
          written.flatMap(({ firstId, marks }) => marks.map((mark, index) => `${firstId + index} ${mark}`)),
          events.map(({ id, eventData }) => `${id} ${eventData.mark}`),
        );
        compare(
          'mark',
          [],
          events.map(({ eventData }) => eventData.mark),
        );
        compare(
          'position',
          events.map((_, index) => String(index + 1)),
          events.map(({ id }) => String(id)),
        );
      }
      return { lost, doubled };
    },
  };
}
