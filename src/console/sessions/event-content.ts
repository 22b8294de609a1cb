import { counted, durationOf } from '../parts/amounts.ts';
import type { Answers } from '../generated/operation-types.ts';

/** Reads recorded events. Their data can have any shape: a field of another type than the documented one counts as absent. */

type Followed = Answers['FollowSession']['sessionEvents'];
export type TimelineEvent = Omit<Followed, 'isSuperseded'> & Partial<Pick<Followed, 'isSuperseded'>>;

type Fields = Readonly<Record<string, unknown>>;

export interface ToolResult {
  readonly status: string | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly exitCode: number | null;
}

export interface EventContent {
  readonly type: string;
  /** The name of the provider's event, or the type. */
  readonly name: string;
  readonly source: string | null;
  readonly scope: string | null;
  readonly parentToolUseId: string | null;
  readonly itemId: string | null;
  readonly index: number | null;
  readonly deltaType: string | null;
  readonly responsePhase: string | null;
  readonly text: string | null;
  /** What a part adds to the text. */
  readonly delta: string | null;
  readonly toolName: string | null;
  readonly toolResult: ToolResult | null;
  /** The text of the provider's event, often one line of JSON. */
  readonly message: string | null;
  /** Text in fields that are not documented, such as the `message` of a runner's error. */
  readonly otherText: string | null;
  /** Tokens, costs and time that the event reports, in words. */
  readonly usage: string | null;
}

/** Longer texts are cut in the answer, and loaded when the reader asks for them. */
export const MAX_TEXT = 10_000;

export function contentOf({ eventDataJson, eventType }: TimelineEvent): EventContent {
  const data = fieldsOf(eventDataJson);
  const scope = fieldsOf(data['scope']);
  const event = fieldsOf(data['event']);
  const result = data['toolResult'];
  const type = wordOf(data['type']) ?? eventType;
  return {
    type,
    name: wordOf(event['event']) ?? type,
    source: wordOf(data['source']),
    scope: wordOf(scope['kind']),
    parentToolUseId: idOf(scope['parentToolUseId']),
    itemId: idOf(data['itemId']),
    index: numberOf(data['index']),
    deltaType: wordOf(data['deltaType']),
    responsePhase: wordOf(data['responsePhase']),
    text: textOf(data['accumulatedText']),
    delta: textOf(data['delta']),
    toolName: wordOf(data['toolName']),
    toolResult: result === undefined || result === null ? null : toolResultOf(fieldsOf(result)),
    message: textOf(event['message']),
    otherText: textIn(data),
    usage: usageOf(fieldsOf(data['usage'])),
  };
}

const toolResultOf = (result: Fields): ToolResult => ({
  status: wordOf(result['status']),
  output: textOf(result['output']),
  error: textOf(result['error']) ?? textIn(fieldsOf(result['error'])),
  exitCode: numberOf(result['exitCode']),
});

/** Fields in which agents and runners write a text for people, the most specific first. */
const TEXT_FIELDS = ['message', 'error', 'text', 'content', 'summary', 'description', 'reason', 'errors'];

/** The first text in these fields, which can be objects or lists with texts in turn. */
function textIn(fields: Fields, depth = 0): string | null {
  for (const name of TEXT_FIELDS) {
    const found = textInside(fields[name], depth);
    if (found !== null) return found;
  }
  return null;
}

function textInside(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (depth > 2) return null;
  if (!Array.isArray(value)) return textIn(fieldsOf(value), depth + 1);
  const texts = value.flatMap((each: unknown) => textInside(each, depth + 1) ?? []);
  return texts.length === 0 ? null : texts.join('\n');
}

/** The text in a message of a provider that is JSON; null if there is none, or if it is no JSON. */
export const textInJson = (message: string): string | null => textIn(jsonOf(message) ?? {});

/** Whether a message is JSON for programs, which may have been cut. */
export const isJson = (message: string): boolean => /^\s*[[{]/.test(message);

/** A JSON object or list; undefined for anything else. */
export function jsonOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

/** The new part of a text; where the event has none, that in the message of its provider: the part itself, or an object with a text. */
export function deltaOf({ delta: added, message }: EventContent): string | null {
  if (added !== null) return added;
  const delta = jsonOf(message ?? '')?.['delta'];
  if (typeof delta === 'string') return delta;
  const { text, partial_json: json, thinking } = fieldsOf(delta);
  return [text, json, thinking].find((part) => typeof part === 'string') ?? null;
}

const COUNT = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const COST = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 });

export interface Amounts {
  readonly inputTokens?: unknown;
  readonly outputTokens?: unknown;
  readonly cachedInputTokens?: unknown;
  readonly cacheWriteTokens?: unknown;
  readonly costUsd?: unknown;
  readonly turns?: unknown;
  readonly toolCalls?: unknown;
  readonly toolErrors?: unknown;
  readonly durationMs?: unknown;
}

/** The totals in their order, each with its words. */
const TOTALS: readonly (readonly [name: keyof Amounts, inWords: (value: number) => string])[] = [
  ['costUsd', (cost) => COST.format(cost)],
  ['durationMs', (ms) => `${durationOf(ms)} agent time`],
  ['turns', (count) => counted(count, 'turn')],
  ['toolCalls', (count) => counted(count, 'tool call')],
  ['toolErrors', (count) => counted(count, 'failed tool call')],
  ['inputTokens', (count) => `${COUNT.format(count)} tokens in`],
  ['cachedInputTokens', (count) => `${COUNT.format(count)} cached`],
  ['outputTokens', (count) => `${COUNT.format(count)} tokens out`],
];

/** Totals in words. Zero says nothing that its absence does not. */
export const usageWords = (amounts: Amounts): readonly (readonly [name: keyof Amounts, words: string])[] =>
  TOTALS.flatMap(([name, inWords]) => {
    const value = amounts[name];
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? [[name, inWords(value)] as const] : [];
  });

/** The totals that an event reports, in one line; null if there are none. */
export function usageOf(amounts: Amounts): string | null {
  const hasTurns = Number(amounts.turns) > 1;
  return (
    usageWords(amounts)
      .map(([name, words]) => (name === 'durationMs' && !hasTurns ? `${words} of this turn` : words))
      .join(' · ') || null
  );
}

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const wordOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

const idOf = (value: unknown): string | null => (typeof value === 'number' ? String(value) : wordOf(value));

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
