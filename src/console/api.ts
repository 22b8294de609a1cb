import { EventSourceParserStream } from 'eventsource-parser/stream';
import { OPERATIONS, type OperationName } from './operations.ts';
import type { Answers, Variables } from './operation-types.ts';

export interface Fault {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** An answer may have both data and faults: refused fields are null, and their faults have their paths. */
export interface Answer<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
}

const ORGANIZATION = 'organization';

/** The selected organization, for keys of several; stored in this browser. */
export const organization = {
  get: () => localStorage.getItem(ORGANIZATION),
  set: (id: string) => localStorage.setItem(ORGANIZATION, id),
  clear: () => localStorage.removeItem(ORGANIZATION),
};

interface SendOptions {
  readonly accept: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function send(name: OperationName, variables: object, { accept, headers, signal }: SendOptions): Promise<Response> {
  const chosen = organization.get();
  return fetch('/graphql', {
    signal,
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: accept,
      ...(chosen && { 'X-Organization-Id': chosen }),
      ...headers,
    },
    body: JSON.stringify({ query: OPERATIONS[name], operationName: name, variables }),
  });
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly Fault[];
  readonly extensions?: { readonly cost?: { readonly limit: number; readonly remaining?: number } };
}

/** What remains of the limits of the key in this minute, according to the latest answer; undefined without a limit. */
export interface Left {
  readonly limit: number;
  readonly remaining: number;
}

export const budget: { requests?: Left; cost?: Left } = {};

function noteBudget({ headers }: Response, cost: Left | undefined): void {
  const [limit, remaining] = ['RateLimit-Limit', 'RateLimit-Remaining'].map((name) => headers.get(name));
  if (limit && remaining) budget.requests = { limit: Number(limit), remaining: Number(remaining) };
  if (cost) budget.cost = cost;
}

/** Executes a query or mutation with the sign-in cookie. Without a valid sign-in the browser goes to the sign-in page. */
export async function run<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  { idempotencyKey }: { readonly idempotencyKey?: string } = {},
): Promise<Answer<Answers[Name]>> {
  try {
    const accept = 'application/graphql-response+json, application/json';
    const headers = idempotencyKey === undefined ? undefined : { 'Idempotency-Key': idempotencyKey };
    const response = await send(name, variables, { accept, headers });
    if (response.status === 401) return signInAgain();
    if (name === 'Viewer' && isForeignOrganization(response)) {
      organization.clear();
      return await run(name, variables);
    }
    const { data, errors = [], extensions } = (await response.json()) as Body;
    const { limit, remaining } = extensions?.cost ?? {};
    noteBudget(response, limit !== undefined && remaining !== undefined ? { limit, remaining } : undefined);
    return { data: (data ?? null) as Answers[Name] | null, faults: errors };
  } catch (error) {
    return { data: null, faults: [{ message: `The gateway cannot be reached (${String(error)}).` }] };
  }
}

/** Whether the stored organization does not belong to this key. */
function isForeignOrganization({ status }: Response): boolean {
  return [400, 403, 404].includes(status) && organization.get() !== null;
}

/** The name or e-mail address of the signed-in user; null for nobody. */
export async function whoIsSignedIn(): Promise<string | null> {
  const response = await send('Viewer', {}, { accept: 'application/graphql-response+json, application/json' });
  if (!response.ok) {
    if (!isForeignOrganization(response)) return null;
    organization.clear();
    return await whoIsSignedIn();
  }
  const { data } = (await response.json()) as { readonly data: Answers['Viewer'] | null };
  const user = data?.viewer.user;
  return user?.email ?? user?.name ?? null;
}

/** Signs this browser in. @returns the error, if any */
export async function signIn(key: string): Promise<string | undefined> {
  const response = await fetch('/sign-in', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ key }),
  });
  if (response.ok) return undefined;
  return response.status === 401
    ? 'That key does not work: it is mistyped, expired or revoked.'
    : `The gateway answered ${response.status}.`;
}

function signInAgain(): Promise<never> {
  location.assign(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  return new Promise(() => undefined);
}

export interface Follower<Data> {
  /** Called with the answer and the id of the event, if it has one. */
  readonly onData: (data: Data) => void;
  /** Called with the reason when the gateway refuses to go on, which is final. */
  readonly onState: (state: FollowState, refusal?: string) => void;
}

export type FollowState = 'live' | 'reconnecting' | 'ended' | 'refused';

const RETRY_MS = 2000;
/** Errors that pass. */
const PASSING: ReadonlySet<string | undefined> = new Set(['RATE_LIMITED', 'INTERNAL', 'UNAVAILABLE']);

class Refusal extends Error {}

/** The error of a fault: final, unless it passes. */
function failureOf({ message = 'no data', extensions }: Partial<Fault> = {}): Error {
  return PASSING.has(extensions?.code) ? new Error(message) : new Refusal(message);
}

/** Checks the answer to a subscription. @throws Refusal for a status that stays the same. */
async function requireStream(response: Response): Promise<void> {
  if (response.status === 401) await signInAgain();
  if (response.ok) return;
  const { status } = response;
  if (status === 429 || status >= 500) throw new Error(`status ${status}`);
  const { errors } = (await response.json().catch(() => ({}))) as Body;
  throw new Refusal(errors?.[0]?.message ?? `The gateway answered ${status}.`);
}

/**
 * Follows a subscription over server-sent events until it ends, is refused or is stopped. After a lost connection it resumes from the last
 * event (`Last-Event-ID`), so that no event is missed or repeated.
 * @returns a function that stops it
 */
export function follow<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  { onData, onState }: Follower<Answers[Name]>,
): () => void {
  const stopped = new AbortController();
  let lastId: string | undefined;
  const attempt = async (): Promise<void> => {
    const headers: Record<string, string> = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
    const response = await send(name, variables, { accept: 'text/event-stream', headers, signal: stopped.signal });
    await requireStream(response);
    // 204: it has ended meanwhile.
    if (!response.body) return;
    onState('live');
    const events = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    for (;;) {
      const { done, value } = await events.read();
      if (done) break;
      const { event, data, id } = value;
      lastId = id ?? lastId;
      if (event === 'complete') return;
      const body = JSON.parse(data) as Body;
      if (body.data) onData(body.data as Answers[Name]);
      else if (body.errors?.[0]?.extensions?.code === 'UNAUTHENTICATED') await signInAgain();
      else throw failureOf(body.errors?.[0]);
    }
    throw new Error('the stream was interrupted');
  };
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      try {
        await attempt();
        return onState('ended');
      } catch (error) {
        if (stopped.signal.aborted) return;
        if (error instanceof Refusal) return onState('refused', error.message);
        onState('reconnecting');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  };
  void loop();
  return () => stopped.abort();
}
