import { leaveFor, organization } from './address.ts';
import { FAULT } from './operation-faults.ts';
import { OPERATIONS, type OperationName } from './operations.ts';
import type { Answers, Variables } from '../generated/operation-types.ts';

export interface Fault {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** An answer may have both data and faults: refused fields are null, and their faults have their paths. */
export interface Answer<Data> {
  readonly data: Data | null;
  readonly faults: readonly Fault[];
  /** Set if the request failed for a reason that passes. */
  readonly pause?: Pause | undefined;
}

/** Why a request cannot be answered at present, and when it can be repeated. */
export interface Pause {
  /** The limits of the minute are used up; the gateway is not ready; it cannot be reached. */
  readonly reason: 'limited' | 'unavailable' | 'unreachable';
  /** Milliseconds to wait. Undefined if the gateway named none. */
  readonly waitMs: number | undefined;
}

export interface RunOptions {
  /** The slug or id of another organization than that of this tab. */
  readonly organization?: string | null;
  /** With it, a repeated mutation gets the answer of the first one. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const send = (name: OperationName, variables: object, options: RunOptions) =>
  post({ query: OPERATIONS[name], operationName: name, variables }, options);

function post(document: object, options: RunOptions): Promise<Response> {
  const { organization: chosen = organization.get(), idempotencyKey, signal } = options;
  return fetch('/graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json, application/json',
      ...(chosen && { 'X-Organization-Id': chosen }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    body: JSON.stringify(document),
    ...(signal && { signal }),
  });
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly Fault[];
  readonly extensions?: { readonly cost?: { readonly limit: number; readonly remaining?: number } };
}

/** What remains of the limits of this browser in this minute, according to the latest answer; undefined without a limit. */
export interface Left {
  readonly limit: number;
  readonly remaining: number;
}

export const budget: { requests?: Left; cost?: Left } = {};

function noteBudget({ headers }: Response, { limit, remaining }: Partial<Left> = {}): void {
  const [most, left] = ['RateLimit-Limit', 'RateLimit-Remaining'].map((name) => headers.get(name));
  if (most && left) budget.requests = { limit: Number(most), remaining: Number(left) };
  if (limit !== undefined && remaining !== undefined) budget.cost = { limit, remaining };
}

/**
 * Executes an operation once, with the sign-in cookie, in the organization of this tab. Without a valid sign-in the browser goes to the sign-in
 * page. Use it for mutations; `query` also waits and tries again.
 */
export async function run<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  options: RunOptions = {},
): Promise<Answer<Answers[Name]>> {
  return answerOf<Answers[Name]>(() => send(name, variables, options));
}

/** The most objects of {@link runOnEach}. */
export const MAX_AT_ONCE = 50;

/** The result of a mutation for one of several objects. */
export type EachResult = { readonly __typename: string; readonly message?: string } | null;

/** Runs a mutation for each of these inputs, in one document: what is refused does not stop the others. @returns their results, in order */
export function runOnEach(
  mutation: 'pinSession' | 'updateSession' | 'transitionSession' | 'deleteSession',
  inputs: readonly object[],
): Promise<Answer<Readonly<Record<string, EachResult>>>> {
  const type = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input!`;
  const variables = Object.fromEntries(inputs.map((input, index) => [`i${index}`, input]));
  const names = Object.keys(variables);
  const fields = names.map((name) => `${name}: ${mutation}(input: $${name}) { __typename ${FAULT} }`);
  const text = `mutation Each(${names.map((name) => `$${name}: ${type}`).join(' ')}) { ${fields.join(' ')} }`;
  return answerOf(() => post({ query: text, variables }, {}));
}

async function answerOf<Data>(request: () => Promise<Response>): Promise<Answer<Data>> {
  try {
    const response = await request();
    if (response.status === 401) return await signInAgain();
    const body = await bodyOf(response);
    noteBudget(response, body.extensions?.cost);
    const data = (body.data ?? null) as Data | null;
    const faults = body.errors?.map(inWords) ?? (data ? [] : [{ message: `The gateway answered ${response.status}.` }]);
    return { data, faults, ...(!data && { pause: pauseOf(response) }) };
  } catch {
    // `fetch` gives no reason. An aborted request is not shown.
    const message = 'The gateway cannot be reached. Check your connection, then try again.';
    return { data: null, faults: [{ message }], pause: { reason: 'unreachable', waitMs: undefined } };
  }
}

/** What the API says of its header means nothing to people. */
const inWords = (fault: Fault): Fault =>
  fault.message === 'X-Organization-Id: organization not found'
    ? { ...fault, message: 'You do not belong to this organization, or it was deleted.' }
    : fault;

/** A proxy can answer with something else than JSON. */
async function bodyOf(response: Response): Promise<Body> {
  const body: unknown = await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) return {};
    throw error;
  });
  return body ?? {};
}

function pauseOf({ status, headers }: Response): Pause | undefined {
  if (status !== 429 && status < 500) return undefined;
  if (status === 500) return undefined;
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN);
  return {
    reason: status === 429 ? 'limited' : 'unavailable',
    waitMs: seconds > 0 ? seconds * 1000 : undefined,
  };
}

export interface QueryOptions extends RunOptions {
  /** Called before each pause with its reason and the time when the query is sent again, and without arguments when it has been answered. */
  readonly onPause?: (pause?: Paused) => void;
  /** Whether nobody waits for it, so that no bar is shown. */
  readonly isQuiet?: boolean;
}

/** A query that waits. */
export interface Paused {
  readonly reason: Pause['reason'];
  /** When it is sent again, in milliseconds of the epoch. */
  readonly until: number;
  /** Sends it now. */
  readonly retry: () => void;
}

let open = 0;
let onChange: (isLoading: boolean) => void = () => undefined;

/** Whether a query is on its way. */
export const loading = {
  listen: (listener: typeof onChange): void => void (onChange = listener),
  async during<Value>(request: Promise<Value>): Promise<Value> {
    onChange((open += 1) > 0);
    try {
      return await request;
    } finally {
      onChange((open -= 1) > 0);
    }
  },
};

/** Executes a query. While it fails for a reason that passes, it waits, as long as the gateway says, and is sent again. */
export async function query<Name extends OperationName>(
  name: Name,
  variables: Variables[Name],
  { onPause, isQuiet = false, ...options }: QueryOptions = {},
): Promise<Answer<Answers[Name]>> {
  for (let failures = 0; ; failures++) {
    const request = run(name, variables, options);
    const answer = await (isQuiet ? request : loading.during(request));
    if (!answer.pause || options.signal?.aborted) {
      onPause?.();
      return answer;
    }
    const { reason, waitMs = backOff(failures) } = answer.pause;
    await pause(waitMs, options.signal, (retry) => onPause?.({ reason, until: Date.now() + waitMs, retry }));
  }
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

/** How long to wait after so many failures: twice as long each time, with a random part so that not all tabs ask at once. */
export const backOff = (failures: number): number =>
  Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2);

/** Waits for a time, until `retry` is called, until the machine is back in a network, or until the signal is aborted. */
export const pause = (ms: number, signal?: AbortSignal, onStart?: (retry: () => void) => void): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal?.addEventListener('abort', end, { once: true });
    onStart?.(end);
  });

/** The name or e-mail address of the signed-in user; null for nobody. */
export async function whoIsSignedIn(): Promise<string | null> {
  const response = await send('Viewer', {}, { organization: null });
  if (!response.ok) return null;
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
  const { error } = (await response.json().catch(() => ({}))) as { readonly error?: string };
  return error ?? `The gateway answered ${response.status}.`;
}

const ENDED = 'ended';

/** What this person has deleted: the sign-in ends with it, and the sign-in page says why. */
export const endedBy = {
  note: (what: 'account' | 'organization'): void => sessionStorage.setItem(ENDED, what),
  take: (): string | null => {
    const what = sessionStorage.getItem(ENDED);
    sessionStorage.removeItem(ENDED);
    return what;
  },
};

/** Goes to the sign-in page, and from there back to this page with its filters and its place. */
function signInAgain(): Promise<never> {
  const { pathname, search, hash } = location;
  const ended = endedBy.take();
  if (ended !== null) leaveFor(`/sign-in?ended=${ended}`);
  else leaveFor(`/sign-in?next=${encodeURIComponent(pathname + search + hash)}`);
  return new Promise(() => undefined);
}
