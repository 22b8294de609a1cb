import { type Client, createClient } from 'graphql-ws/client';

/**
 * Runs the subscriptions of all tabs of a browser over one WebSocket for each organization. A browser opens only six HTTP connections to a
 * host, so a stream for each tab would leave none for the requests of the others.
 */

/** A message of a tab. */
export type Order =
  | ({ readonly type: 'start'; readonly id: number } & Subscription)
  | { readonly type: 'stop'; readonly id: number }
  /** Sent in intervals, because nothing reports that a tab has crashed. */
  | { readonly type: 'alive' };

interface Subscription {
  readonly organization: string | null;
  readonly query: string;
  readonly operationName: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** What happens to a subscription. `started`: it receives everything that happens from now on. */
export type News =
  | { readonly type: 'started' | 'ended' }
  | { readonly type: 'data'; readonly data: unknown }
  | { readonly type: 'failed'; readonly failure: Failure };

/** A message to a tab. */
export type Report = News & { readonly id: number };

/** The code of an error, or the close code of the socket; neither if the connection was lost. */
export interface Failure {
  readonly message: string;
  readonly code?: string | undefined;
  readonly closeCode?: number | undefined;
}

export const LOST: Failure = { message: 'The connection was lost.' };

export const ALIVE_MS = 10_000;
const GONE_MS = 3 * ALIVE_MS;

/** A ping follows so long after the last answer, and must be answered in so much time: a silent connection is lost within 20 s. */
const PING_MS = 8_000;
const PONG_MS = 10_000;
/** How long the socket stays open without subscriptions, because the next page may begin one. */
const IDLE_MS = 3_000;

/** Serves one tab. */
export function serve(port: MessagePort): void {
  const leave = new Map<number, () => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const loseAll = () => {
    for (const [id, stop] of leave) {
      stop();
      port.postMessage({ id, type: 'failed', failure: LOST } satisfies Report);
    }
    leave.clear();
  };
  port.addEventListener('message', ({ data: order }: MessageEvent<Order>) => {
    clearTimeout(timer);
    timer = setTimeout(loseAll, GONE_MS);
    if (order.type === 'alive') return;
    leave.get(order.id)?.();
    leave.delete(order.id);
    if (order.type === 'stop') return;
    const { type: _, id, ...subscription } = order;
    const report = (news: News) => {
      if (news.type === 'ended' || news.type === 'failed') leave.delete(id);
      port.postMessage({ ...news, id } satisfies Report);
    };
    leave.set(id, join(subscription, report));
  });
  port.start();
}

type Listener = (news: News) => void;

interface Stream {
  readonly listeners: Set<Listener>;
  isStarted: boolean;
  readonly stop: () => void;
}

const streams = new Map<string, Stream>();
let lastKey = 0;

/** Tabs that ask for the same share a stream, unless it begins with earlier events. @returns a function that leaves it */
function join(subscription: Subscription, listener: Listener): () => void {
  const isShared = !('after' in subscription.variables);
  const key = isShared ? JSON.stringify(subscription) : String(++lastKey);
  const stream = streams.get(key) ?? open(key, subscription);
  stream.listeners.add(listener);
  if (stream.isStarted) listener({ type: 'started' });
  return () => {
    stream.listeners.delete(listener);
    if (stream.listeners.size > 0) return;
    streams.delete(key);
    stream.stop();
  };
}

function open(key: string, { organization, ...payload }: Subscription): Stream {
  const listeners = new Set<Listener>();
  const { client, acknowledged } = connectionOf(organization);
  const tell = (news: News) => {
    for (const listener of listeners) listener(news);
  };
  const end = (news: News) => {
    acknowledged.delete(token);
    if (streams.get(key) === stream) streams.delete(key);
    tell(news);
    listeners.clear();
  };
  const token = String(++lastKey);
  acknowledged.set(token, () => {
    stream.isStarted = true;
    tell({ type: 'started' });
  });
  const stop = client.subscribe(
    { ...payload, extensions: { acknowledge: token } },
    {
      next: ({ data }) => tell({ type: 'data', data }),
      error: (error) => end({ type: 'failed', failure: failureOf(error) }),
      complete: () => end({ type: 'ended' }),
    },
  );
  const stream: Stream = { listeners, isStarted: false, stop };
  streams.set(key, stream);
  return stream;
}

interface Connection {
  readonly client: Client;
  /** Called when the gateway says that the subscription with this token has started. */
  readonly acknowledged: Map<string, () => void>;
}

const connections = new Map<string | null, Connection>();

/** The WebSocket for an organization. Whoever follows a subscription decides about repeating it, so this does not. */
function connectionOf(organization: string | null): Connection {
  const known = connections.get(organization);
  if (known) return known;
  const acknowledged = new Map<string, () => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const answeredWithin = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => client.terminate(), ms);
  };
  const client = createClient({
    url: new URL('/graphql', location.href).href.replace(/^http/, 'ws'),
    ...(organization !== null && { connectionParams: { 'X-Organization-Id': organization } }),
    retryAttempts: 0,
    keepAlive: PING_MS,
    lazyCloseTimeout: IDLE_MS,
    on: {
      connecting: () => answeredWithin(PONG_MS),
      message: () => clearTimeout(timer),
      ping: (isReceived, payload) => {
        if (isReceived) acknowledged.get(String(payload?.['acknowledged']))?.();
        else answeredWithin(PONG_MS);
      },
      closed: () => clearTimeout(timer),
    },
  });
  const connection = { client, acknowledged };
  connections.set(organization, connection);
  return connection;
}

/** The library gives the errors of the subscription, the event of the closed socket, or an event without a reason. */
function failureOf(error: unknown): Failure {
  if (Array.isArray(error)) {
    // Errors of an answer of the gateway.
    const [first] = error as readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
    return { message: first?.message ?? '', code: first?.extensions?.code };
  }
  if (typeof error !== 'object' || error === null || !('code' in error)) return LOST;
  const reason = 'reason' in error ? String(error.reason) : '';
  return { message: reason, closeCode: Number(error.code) };
}
