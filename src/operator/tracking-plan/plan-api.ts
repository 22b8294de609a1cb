import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { USER_AGENT } from '../../core/version.ts';
import { UsageError } from '../command-arguments.ts';
import { type Plan, type PlannedEvent, sortedByName } from './plan.ts';

/** The plan of a gateway, over its REST API. */

export interface PlanApi {
  /** The plan, and the `updatedAt` of each event. */
  read(): Promise<{ readonly plan: Plan; readonly updatedAt: ReadonlyMap<string, string> }>;
  apply(input: PlanChanges): Promise<AppliedPlan>;
}

/** The input of `applyTrackingPlan`. */
export interface PlanChanges {
  readonly definitions: readonly { readonly name: string; readonly expectedUpdatedAt: string | undefined }[];
  readonly deletions: readonly { readonly name: string; readonly expectedUpdatedAt: string | undefined }[];
  readonly isDryRun: boolean;
}

const applied = z.object({
  created: z.array(z.string()),
  changed: z.array(z.string()),
  deleted: z.array(z.string()),
});
export type AppliedPlan = z.output<typeof applied>;

const TYPES = z.enum(['bool', 'date', 'datetime', 'enumeration', 'number', 'string']);
const property = z.object({
  name: z.string(),
  label: z.string(),
  type: TYPES,
  description: z.string(),
  isDefault: z.boolean(),
  options: z.array(
    z.object({
      value: z.string(),
      label: z.string(),
      description: z.string(),
      hidden: z.boolean(),
      displayOrder: z.number(),
    }),
  ),
});
const definition = z.object({
  name: z.string(),
  label: z.string(),
  description: z.string(),
  primaryObject: z.string(),
  includeDefaultProperties: z.boolean(),
  customMatchingId: z
    .object({ primaryObjectRule: z.object({ targetObjectPropertyName: z.string(), eventPropertyName: z.string() }) })
    // Null in answers of earlier versions.
    .nullish(),
  properties: z.array(property).nullable(),
  updatedAt: z.string(),
});
const page = z.object({
  results: z.array(definition),
  paging: z.object({ next: z.object({ after: z.string() }) }).optional(),
});

/** @throws UsageError if `GATEWAY` or `KEY` is missing or cannot be used. */
export function createPlanApi(env: Readonly<Record<string, string | undefined>>): PlanApi {
  const [gateway, key] = [baseUrlOf(env['GATEWAY']), env['KEY'] ?? ''];
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError('KEY: must be an API key of the gateway');
  const call: Call = (method, path, body) => send(`${gateway}${path}`, { method, key, body });
  return { read: () => readPlan(call), apply: (input) => applyPlan(call, input) };
}

function baseUrlOf(text = ''): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError('GATEWAY: must be the address of the gateway, such as https://gateway.example.com');
  return url.href.replace(/\/+$/, '');
}

type Call = (method: 'GET' | 'POST', path: string, body?: object) => Promise<unknown>;

async function readPlan(call: Call): ReturnType<PlanApi['read']> {
  const events: PlannedEvent[] = [];
  const updatedAt = new Map<string, string>();
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = new URLSearchParams({ includeProperties: 'true', limit: '100', ...(after && { after }) });
    const found = parsed(page, await call('GET', `/events/2026-03/event-definitions?${query}`));
    for (const each of found.results) {
      events.push(toEvent(each));
      updatedAt.set(each.name, each.updatedAt);
    }
    // The link of the page is not followed: the key is only for GATEWAY.
    after = found.paging?.next.after;
  }
  return { plan: sortedByName(events), updatedAt };
}

function toEvent({ customMatchingId, properties, ...event }: z.output<typeof definition>): PlannedEvent {
  if (!properties) throw new UsageError(`${event.name}: its properties are larger than 4 MiB and cannot be read`);
  return {
    ...event,
    customMatchingId: customMatchingId?.primaryObjectRule,
    properties: sortedByName(properties.filter(({ isDefault }) => !isDefault)),
  };
}

async function applyPlan(call: Call, input: PlanChanges): Promise<AppliedPlan> {
  try {
    return parsed(applied, await call('POST', '/v1/tracking-plan', input));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const nameOf = (list: 'definitions' | 'deletions', index: string) => input[list][Number(index)]?.name ?? index;
    const message = error.message.replaceAll(/\b(definitions|deletions)\.(\d+)/g, (_, list: string, index: string) =>
      nameOf(list === 'deletions' ? list : 'definitions', index),
    );
    throw new UsageError(message, { cause: error });
  }
}

function parsed<Schema extends z.core.$ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const result = z.safeParse(schema, answer);
  if (!result.success) throw new UsageError('GATEWAY: the answer is not that of a gateway of this version');
  return result.data;
}

const TIMEOUT_MS = 60_000;
/** Waiting times before a request is repeated. An answer with `Retry-After` says it itself, up to a minute. */
const RETRY_AFTER_MS = [500, 2_000, 5_000];
const MAX_WAIT_MS = 60_000;
const RETRIED = new Set([429, 502, 503, 504]);

interface Sent {
  readonly method: string;
  readonly key: string;
  readonly body: object | undefined;
}

async function send(url: string, { method, key, body }: Sent): Promise<unknown> {
  const headers = {
    Authorization: `Bearer ${key}`,
    Accept: 'application/json',
    'User-Agent': USER_AGENT,
    // A repeated request changes nothing twice.
    ...(body && { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() }),
  };
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(url, {
      method,
      headers,
      body: body && JSON.stringify(body),
      // The key is sent to nobody else.
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => error as Error);
    const waitMs = RETRY_AFTER_MS[attempt];
    if (waitMs !== undefined && (answer instanceof Error || RETRIED.has(answer.status))) {
      await setTimeout(answer instanceof Error ? waitMs : waitOf(answer, waitMs));
    } else {
      if (answer instanceof Error) throw new UsageError(`GATEWAY: no answer: ${reasonOf(answer)}`, { cause: answer });
      return readAnswer(answer);
    }
  }
}

function waitOf(answer: Response, otherwiseMs: number): number {
  const seconds = Number(answer.headers.get('Retry-After') ?? Number.NaN);
  return seconds >= 0 ? Math.min(seconds * 1000, MAX_WAIT_MS) : otherwiseMs;
}

const reasonOf = (error: Error): string => (error.cause instanceof Error ? error.cause.message : error.message);

const failure = z.union([
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ message: z.string() }).transform(({ message }) => message),
]);

async function readAnswer(answer: Response): Promise<unknown> {
  const text = await answer.text();
  const body = jsonOf(text);
  if (answer.ok) return body;
  const message = failure.safeParse(body);
  throw new UsageError(`${answer.status}: ${message.success ? message.data : 'the gateway refused the request'}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
