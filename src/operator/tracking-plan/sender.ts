// `plan types` copies this file into the modules that it prints, so it imports nothing.

/** What every event takes. */
export interface Moment {
  /** When the event occurred; by default now. */
  readonly occurredAt?: Date | string | undefined;
  /** Deduplication key; by default a new one. A repeat within a year is ignored. */
  readonly uuid?: string | undefined;
}

/** A contact: at least one of the three. */
export type Contact = Moment &
  (
    | { readonly email: string; readonly utk?: string; readonly objectId?: string }
    | { readonly email?: string; readonly utk: string; readonly objectId?: string }
    | { readonly email?: string; readonly utk?: string; readonly objectId: string }
  );
/** A contact that the gateway can also find by a property of the event. */
export type MatchedContact = Moment & { readonly email?: string; readonly utk?: string; readonly objectId?: string };
/** Another record. */
export type OtherRecord = Moment & { readonly objectId: string };
/** A record that the gateway can also find by a property of the event. */
export type MatchedRecord = Moment & { readonly objectId?: string };

/** An occurrence as it is sent. */
export interface Occurrence extends Moment {
  readonly eventName: string;
  readonly properties: object;
  readonly email?: string;
  readonly utk?: string;
  readonly objectId?: string;
}

export interface SenderOptions {
  /** Address of the gateway. */
  readonly gateway: string;
  /** API key with the scope `analytics.behavioral_events.send`. */
  readonly key: string;
  /** Called with the occurrences that are given up, and the reason. What it answers or throws is ignored. */
  readonly onError: (error: Error, occurrences: readonly Occurrence[]) => unknown;
  /** How long an occurrence waits for others, in milliseconds. */
  readonly delayMs?: number;
  /** How many occurrences can wait. Further ones are given up. */
  readonly maxWaiting?: number;
  /** Waiting times before a request is repeated. */
  readonly retryDelaysMs?: readonly number[];
}

export interface Sender {
  readonly send: (eventName: string, properties: object, about?: Moment) => void;
  /** Sends what waits. Resolves when every occurrence so far is stored or given up. */
  readonly flush: () => Promise<void>;
}

/** The maximum of the gateway. */
const MAX_BATCH = 500;
/** Longer waiting times are not worth it, such as that for the next month. */
const MAX_RETRY_AFTER_MS = 120_000;
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const TIMEOUT_MS = 30_000;

/** Sends occurrences in batches, one request at a time. Each has a deduplication key, so that a repeated request counts nothing twice. */
export function createSender(options: SenderOptions): Sender {
  const { delayMs = 1_000, maxWaiting = 10_000 } = options;
  const waiting: Waiting[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;

  async function drain(): Promise<void> {
    while (waiting.length > 0) await deliver(waiting.splice(0, MAX_BATCH), options);
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    while (sending || waiting.length > 0) {
      sending ??= drain().finally(() => (sending = undefined));
      await sending;
    }
  }

  return {
    // Whatever is given, the program goes on.
    send(eventName, properties, about = {}) {
      let occurrence: Occurrence = { eventName, properties };
      try {
        const [occurredAt, uuid] = [about.occurredAt ?? new Date().toISOString(), about.uuid ?? newUuid()];
        occurrence = { ...about, occurredAt, uuid, eventName, properties };
        if (waiting.length >= maxWaiting) throw new Error('too many occurrences wait to be sent');
        waiting.push({ occurrence, json: jsonOf(occurrence) });
        if (waiting.length >= MAX_BATCH) void flush();
        else timer ??= setTimeout(() => void flush(), delayMs);
      } catch (error) {
        giveUp(options, error, [occurrence]);
      }
    },
    flush,
  };
}

/** An occurrence as it was when it was given. What the caller does with its object later changes nothing. */
interface Waiting {
  readonly occurrence: Occurrence;
  readonly json: string;
}

/**
 * `JSON.stringify` leaves out functions, and makes null of NaN and of an invalid date: the occurrence would be stored without the value.
 * @throws Error that names the property
 */
function jsonOf(occurrence: Occurrence): string {
  return JSON.stringify(occurrence, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    const given = this[name];
    const isLost =
      (typeof value === 'number' && !Number.isFinite(value)) ||
      ['bigint', 'function', 'symbol'].includes(typeof value) ||
      (value === null && given !== null);
    if (isLost) throw new Error(`${name}: ${String(given)} cannot be sent`);
    return value;
  });
}

/** `crypto.randomUUID` is missing on pages that were loaded over plain http, and any text is a key. */
function newUuid(): string {
  const bytes = new Uint8Array(16);
  if (typeof crypto === 'object') crypto.getRandomValues(bytes);
  else bytes.forEach((_, index) => (bytes[index] = Math.random() * 256));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function giveUp({ onError }: SenderOptions, reason: unknown, occurrences: readonly Occurrence[]): void {
  const error = reason instanceof Error ? reason : new Error('cannot be sent', { cause: reason });
  // Its failure would end the program, also if it is asynchronous.
  void (async () => onError(error, occurrences))().catch(() => undefined);
}

/**
 * The gateway accepts all of a batch or none. It is sent again without the occurrences that the answer names; if it names none, such as for a
 * batch that is too large, in halves.
 */
async function deliver(batch: readonly Waiting[], options: SenderOptions): Promise<void> {
  const refusal = await post(batch, options);
  if (!refusal) return;
  const occurrences = batch.map(({ occurrence }) => occurrence);
  if (batch.length === 1 || !refusal.isOfContent) return giveUp(options, refusal.error, occurrences);
  const { faults } = refusal;
  occurrences.forEach((occurrence, index) => {
    const reason = faults.get(index);
    if (reason !== undefined) giveUp(options, new Error(reason), [occurrence]);
  });
  const others = batch.filter((_, index) => !faults.has(index));
  if (others.length === batch.length) {
    const half = Math.ceil(batch.length / 2);
    await deliver(batch.slice(0, half), options);
    await deliver(batch.slice(half), options);
  } else if (others.length > 0) await deliver(others, options);
}

interface Refusal {
  readonly error: Error;
  /** Whether other occurrences could be accepted. */
  readonly isOfContent: boolean;
  /** What the answer says about single occurrences, by their positions in the batch. */
  readonly faults: ReadonlyMap<number, string>;
}

function faultsIn(text: string): Map<number, string> {
  const faults = new Map<number, string>();
  try {
    const { errors } = JSON.parse(text) as {
      readonly errors: readonly { readonly in: string; readonly message: string }[];
    };
    for (const { in: path, message } of errors) {
      const [, index = '', field = ''] = /^inputs\.(\d+)\.?(.*)$/.exec(path) ?? [];
      if (index !== '' && !faults.has(Number(index))) faults.set(Number(index), `${field}: ${message}`);
    }
  } catch {
    // It is the answer of something else, such as a proxy.
  }
  return faults;
}

async function post(batch: readonly Waiting[], options: SenderOptions): Promise<Refusal | undefined> {
  const delays = options.retryDelaysMs ?? RETRY_DELAYS_MS;
  const body = `{"inputs":[${batch.map(({ json }) => json).join(',')}]}`;
  for (let attempt = 0; ; attempt += 1) {
    const { refusal, waitMs } = await tryOnce(body, options);
    const delay = delays[attempt];
    if (!refusal || waitMs === undefined || delay === undefined) return refusal;
    await new Promise((resolve) => setTimeout(resolve, Math.max(delay, waitMs)));
  }
}

/** `waitMs` is set if the request can be repeated. */
async function tryOnce(
  body: string,
  { gateway, key }: SenderOptions,
): Promise<{ readonly refusal?: Refusal; readonly waitMs?: number }> {
  try {
    const answer = await fetch(`${gateway.replace(/\/+$/, '')}/events/2026-03/send/batch`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    if (answer.ok) return {};
    const error = new Error(`the gateway answered ${answer.status}: ${text.slice(0, 2_000)}`);
    const isOfContent = [400, 404, 413].includes(answer.status);
    // A proxy can answer a date, which is not a number.
    const waitMs = (Number(answer.headers.get('Retry-After')) || 0) * 1_000;
    const canRepeat = (answer.status === 429 || answer.status >= 500) && waitMs <= MAX_RETRY_AFTER_MS;
    return { refusal: { error, isOfContent, faults: faultsIn(text) }, ...(canRepeat && { waitMs }) };
  } catch (error) {
    return {
      refusal: {
        error: error instanceof Error ? error : new Error(String(error)),
        isOfContent: false,
        faults: new Map(),
      },
      waitMs: 0,
    };
  }
}
