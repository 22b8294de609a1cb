import type { Answers } from './operation-types.ts';

/** Converts recorded events to timeline items: messages with their complete text, tool calls with their result, and notes. */

export type TimelineEvent = Answers['FollowSession']['sessionEvents'];

interface Item {
  /** The first event of the item, also its anchor (`#event-<id>`). */
  readonly id: number;
  readonly lastId: number;
  readonly at: string;
  readonly scope: string | null;
}

export type TimelineItem = Item &
  (
    | { readonly kind: 'message'; readonly text: string; readonly isFinal: boolean }
    | {
        readonly kind: 'tool';
        readonly name: string;
        readonly input: string;
        readonly status: string | null;
        readonly output: string;
        readonly error: string | null;
        readonly exitCode: number | null;
      }
    | { readonly kind: 'note'; readonly label: string; readonly isError: boolean }
  );

/** Events that only delimit a message or keep a connection alive. */
const FRAMES = /(?:_start|_stop|\.created|\.completed|\.in_progress|\.added|\.done)$|^(?:message_delta|ping)$/;

/** Appends events to items. Items are immutable: changed ones are replaced, so that only these are rendered again. */
export function withEvents(items: readonly TimelineItem[], events: readonly TimelineEvent[]): TimelineItem[] {
  const next = [...items];
  const places = new Map(next.map((item, index) => [keyOfItem.get(item) ?? '', index]));
  for (const event of events) {
    const key = keyOf(event);
    const index = key === undefined ? undefined : places.get(key);
    const grown = key === undefined ? noteOf(event) : grow(index === undefined ? undefined : next[index], event);
    if (!grown) continue;
    if (key !== undefined) keyOfItem.set(grown, key);
    if (index !== undefined) next[index] = grown;
    else {
      next.push(grown);
      if (key !== undefined) places.set(key, next.length - 1);
    }
  }
  return next;
}

const keyOfItem = new WeakMap<TimelineItem, string>();

/** The item of an event: deltas and results of one content block share an item id. */
function keyOf({ eventData: data, messageId }: TimelineEvent): string | undefined {
  const isTool = data.toolName !== null || data.toolResult !== null || data.deltaType === 'INPUT_JSON_DELTA';
  if (!isTool && data.deltaType !== 'TEXT_DELTA') return undefined;
  return `${isTool ? 'tool' : 'text'}:${data.itemId ?? `${messageId}:${data.index}`}`;
}

function grow(before: TimelineItem | undefined, event: TimelineEvent): TimelineItem {
  const { eventData: data, databaseId: lastId, createdAt: at } = event;
  const frame = before ?? { id: lastId, at, scope: data.scope?.kind ?? null };
  const base = { id: frame.id, at: frame.at, scope: frame.scope, lastId };
  const delta = data.deltaType === null ? '' : deltaOf(event);
  if (data.deltaType === 'TEXT_DELTA') {
    const text = before?.kind === 'message' ? before.text : '';
    return {
      ...base,
      kind: 'message',
      text: data.accumulatedText ?? text + delta,
      isFinal: data.responsePhase === 'FINAL_ANSWER',
    };
  }
  const tool = before?.kind === 'tool' ? before : undefined;
  const isInput = data.deltaType === 'INPUT_JSON_DELTA';
  return {
    ...base,
    kind: 'tool',
    name: data.toolName ?? tool?.name ?? 'Tool',
    input: isInput ? (data.accumulatedText ?? (tool?.input ?? '') + delta) : (tool?.input ?? ''),
    status: data.toolResult?.status ?? tool?.status ?? null,
    output: data.toolResult?.output ?? tool?.output ?? '',
    error: data.toolResult?.error ?? tool?.error ?? null,
    exitCode: data.toolResult?.exitCode ?? tool?.exitCode ?? null,
  };
}

/** The text of a provider's message: the message itself, or an object with a text. */
function deltaOf({ eventData: { event } }: TimelineEvent): string {
  try {
    const { delta } = JSON.parse(event?.message ?? '{}') as { delta?: unknown };
    if (typeof delta === 'string') return delta;
    const { text, partial_json: json } = (delta ?? {}) as { text?: unknown; partial_json?: unknown };
    return typeof text === 'string' ? text : typeof json === 'string' ? json : '';
  } catch {
    return '';
  }
}

function noteOf({
  databaseId: id,
  createdAt: at,
  eventType,
  eventData: data,
}: TimelineEvent): TimelineItem | undefined {
  const provider = data.event?.event;
  if (provider !== undefined && FRAMES.test(provider)) return undefined;
  const label = (provider ?? (data.type === '' ? eventType : data.type)).replaceAll('_', ' ');
  return {
    id,
    lastId: id,
    at,
    scope: data.scope?.kind ?? null,
    kind: 'note',
    label,
    isError: /error|fail/i.test(label),
  };
}
