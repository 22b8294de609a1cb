import { organization } from './address.ts';
import { backOff, pause, query } from './api.ts';
import { OPERATIONS, type OperationName } from './operations.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { ALIVE_MS, type Failure, LOST, type Order, type Report, serve } from './stream-hub.ts';

/**
 * Subscriptions of this tab. They run in a worker that all tabs share (`stream-hub.ts`), and only while the tab is visible.
 */

export interface Follower<Data> {
  readonly onData: (data: Data) => void;
  /** Called with the reason if the gateway gave one. After `ended`, `refused` and `gone` nothing more follows. */
  readonly onState: (state: FollowState, reason?: string) => void;
}

/**
 * `live`: everything that happens from now on arrives. `reconnecting`: the connection was lost. `paused`: the gateway refuses for a while. `ended`:
 * there is nothing more to come. `refused`: the gateway refused it. `gone`: it was allowed before, but no longer is.
 */
export type FollowState = 'live' | 'reconnecting' | 'paused' | 'ended' | 'refused' | 'gone';

/** Variables with which a subscription continues after an event. */
type Resume = Readonly<Record<string, string>> | undefined;

function resumeAfter(data: object): Resume {
  if (!('sessionEntries' in data)) return undefined;
  const { lastEventId } = (data as Answers['FollowSession']).sessionEntries;
  return { after: lastEventId };
}

/**
 * Follows a subscription until it ends, is refused or is stopped. After a lost connection it continues: with what the events of a session
 * after the last one have changed; others report `live` again, and the page loads again what it shows.
 * @returns a function that stops it
 */
export function follow<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  { onData, onState }: Follower<Answers[Name]>,
): () => void {
  const stopped = new AbortController();
  const { signal } = stopped;
  let resume: Resume;
  let wasLive = false;
  let failures = 0;
  const onReport = (report: Report) => {
    if (report.type === 'started') {
      wasLive = true;
      failures = 0;
      onState('live');
    } else if (report.type === 'data') {
      const data = report.data as Answers[Name];
      resume = resumeAfter(data) ?? resume;
      onData(data);
    }
  };
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await untilVisible(signal);
      if (signal.aborted) return;
      const outcome = await attempt(name, { ...variables, ...resume }, onReport, signal);
      if (signal.aborted) return;
      if (outcome === 'hidden') continue;
      if (outcome === 'ended') return onState('ended');
      if (await isFinal(outcome, failures)) return onState(wasLive ? 'gone' : 'refused', outcome.message);
      if (isLimit(outcome)) onState('paused', outcome.message);
      else onState('reconnecting');
      await pause(backOff(failures++), signal);
    }
  };
  void loop();
  return () => stopped.abort();
}

const PASSING_CODES: ReadonlySet<string> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL']);
/** Close codes of the protocol for faults of the client. */
const FINAL_CLOSE_CODES: ReadonlySet<number> = new Set([4400, 4401, 4406, 4409]);
const FORBIDDEN = 4403;
const LIMITS: ReadonlySet<string | number | undefined> = new Set(['RATE_LIMITED', 'UNAVAILABLE', 4429, 1013]);

const isLimit = ({ code, closeCode }: Failure): boolean => LIMITS.has(code ?? closeCode);

/** Whether repeating cannot help. If the sign-in has ended, the query goes to the sign-in page. */
async function isFinal({ code, closeCode }: Failure, failures: number): Promise<boolean> {
  if (code === 'UNAUTHENTICATED' || closeCode === FORBIDDEN) {
    const { data } = await query('Viewer', {}, { isQuiet: true });
    // The socket can belong to a sign-in that was replaced by another one.
    return data === null || failures > 1;
  }
  return code === undefined ? FINAL_CLOSE_CODES.has(closeCode ?? 0) : !PASSING_CODES.has(code);
}

type Outcome = 'ended' | 'hidden' | Failure;

/** Runs a subscription until it ends or fails, or the tab is hidden. */
const attempt = (
  name: OperationName,
  variables: Readonly<Record<string, unknown>>,
  onReport: (report: Report) => void,
  signal: AbortSignal,
): Promise<Outcome> =>
  new Promise((resolve) => {
    const id = ++lastId;
    const end = (outcome: Outcome) => {
      listeners.delete(id);
      document.removeEventListener('visibilitychange', hide);
      removeEventListener('pagehide', stop);
      signal.removeEventListener('abort', stop);
      resolve(outcome);
    };
    const stop = () => {
      post({ type: 'stop', id });
      end('hidden');
    };
    const hide = () => {
      if (document.hidden) stop();
    };
    listeners.set(id, (report) => {
      if (report.type === 'ended') end('ended');
      else if (report.type === 'failed') end(report.failure);
      else onReport(report);
    });
    document.addEventListener('visibilitychange', hide);
    addEventListener('pagehide', stop);
    signal.addEventListener('abort', stop);
    post({
      type: 'start',
      id,
      organization: organization.get(),
      query: OPERATIONS[name],
      operationName: name,
      variables,
    });
  });

function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
  });
}

const listeners = new Map<number, (report: Report) => void>();
let lastId = 0;
let user = '';
let port: MessagePort | undefined;

/** Names the signed-in user, because people who use the same browser must not share a connection. */
export function followAs(userId: string): void {
  user = userId;
}

function post(order: Order): void {
  if (!port) {
    port = connect();
    setInterval(() => listeners.size > 0 && port?.postMessage({ type: 'alive' } satisfies Order), ALIVE_MS);
  }
  port.postMessage(order);
}

function connect(): MessagePort {
  try {
    const address = document.querySelector<HTMLElement>('#console')?.dataset['worker'] ?? '';
    const worker = new SharedWorker(address, { type: 'module', name: user });
    worker.addEventListener('error', () => {
      port = listenedTo(hubOfThisTab());
      for (const [id, listener] of listeners) listener({ id, type: 'failed', failure: LOST });
    });
    return listenedTo(worker.port);
  } catch {
    return listenedTo(hubOfThisTab());
  }
}

/** For browsers without shared workers: a connection for this tab alone. */
function hubOfThisTab(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  serve(port2);
  return port1;
}

function listenedTo(given: MessagePort): MessagePort {
  given.addEventListener('message', ({ data }: MessageEvent<Report>) => listeners.get(data.id)?.(data));
  given.start();
  return given;
}
