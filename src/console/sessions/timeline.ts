import {
  type EventContent,
  MAX_TEXT,
  type TimelineEvent,
  contentOf,
  deltaOf,
  isJson,
  textInJson,
} from './event-content.ts';

/** Converts recorded events to timeline items: messages with their complete text, tool calls with their result, and notes. */

interface Item {
  /** The first event of the item, which its link and its label name. */
  readonly id: number;
  readonly lastId: number;
  readonly at: string;
  /** Who speaks. */
  readonly speaker: string;
  /** `subagent`, `background` or another scope; null for the agent itself. */
  readonly scope: string | null;
  /** The tool call that started the subagent. */
  readonly parentToolUseId: string | null;
  /** Whether a text is longer than what was loaded. */
  readonly isCut: boolean;
}

export interface Message extends Item {
  readonly kind: 'message';
  readonly text: string;
  readonly isThinking: boolean;
  readonly isFinal: boolean;
}

export interface ToolCall extends Item {
  readonly kind: 'tool';
  readonly callId: string | null;
  readonly name: string;
  readonly input: string;
  readonly inputIsCut: boolean;
  readonly status: string | null;
  readonly output: string;
  readonly error: string | null;
  readonly exitCode: number | null;
  /** When its result arrived; null while it runs. */
  readonly endedAt: string | null;
  readonly isError: boolean;
}

export interface Note extends Item {
  readonly kind: 'note';
  readonly label: string;
  readonly text: string;
  /** The message of the provider, if it is JSON without a text for people. */
  readonly json: string;
  readonly isError: boolean;
}

export type TimelineItem = Message | ToolCall | Note;

/** Events that only delimit a message, continue a long line or keep a connection alive. */
const FRAMES =
  /(?:_start|_stop|\.created|\.completed|\.in_progress|\.added|\.done)$|^(?:message_delta|ping|line_part)$/;
/** Events of agents whose names look like frames. */
const ITEMS = /^item\./;
const FAILURE = /error|fail/i;

/** Appends events to items. Items are immutable: changed ones are replaced, so that only these are rendered again. */
export function withEvents(items: readonly TimelineItem[], events: readonly TimelineEvent[]): TimelineItem[] {
  const next = [...items];
  const places = new Map(next.map((item, index) => [keyOfItem.get(item) ?? '', index]));
  for (const event of events) {
    if (event.isSuperseded === true) continue;
    const content = contentOf(event);
    const kind = kindOf(content);
    const key = kind === 'note' ? undefined : keyOf(kind, event, content);
    const index = key === undefined ? continuedBy(next, kind, content) : places.get(key);
    const before = index === undefined ? undefined : next[index];
    const grown = CONVERSIONS[kind](event, content, before);
    if (!grown) continue;
    chains.set(grown, { id: event.databaseId, earlier: before && chains.get(before) });
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

/** The events of an item, latest first. Adding one copies nothing. */
interface Chain {
  readonly id: number;
  readonly earlier: Chain | undefined;
}

const chains = new WeakMap<TimelineItem, Chain>();

/** The ids of the events that an item was made of, among those of other items. */
export function eventIdsOf(item: TimelineItem): readonly number[] {
  const ids: number[] = [];
  for (let chain = chains.get(item); chain; chain = chain.earlier) ids.push(chain.id);
  return ids.toReversed();
}

type Kind = TimelineItem['kind'];

/** Sources whose texts are messages, whatever the type of the event. */
const SPEAKING = new Set(['user', 'assistant', 'agent', 'model']);

function kindOf({ toolName, toolResult, deltaType, text, source }: EventContent): Kind {
  if (toolName !== null || toolResult !== null || deltaType === 'input_json_delta') return 'tool';
  if (deltaType === 'text_delta') return 'message';
  return text !== null && text !== '' && SPEAKING.has(source ?? '') ? 'message' : 'note';
}

/** Deltas and results of one content block share an item id, or their place in a message. */
function keyOf(kind: Kind, { messageId }: TimelineEvent, { itemId, index, scope, parentToolUseId }: EventContent) {
  const place = itemId ?? (messageId !== null && index !== null ? `${messageId}:${index}` : undefined);
  return place === undefined ? undefined : `${kind}:${kind === 'tool' ? '' : `${scope}:${parentToolUseId}:`}${place}`;
}

/** The index of the last item, if the event continues it although it names no item. */
function continuedBy(items: readonly TimelineItem[], kind: Kind, content: EventContent): number | undefined {
  const last = items.at(-1);
  if (!last || last.kind !== kind || keyOfItem.has(last) || last.scope !== scopeOf(content)) return undefined;
  if (last.kind === 'tool') {
    const hasEnded = last.status !== null && last.status !== 'running';
    return !hasEnded && (content.toolName ?? last.name) === last.name && content.toolResult !== null
      ? items.length - 1
      : undefined;
  }
  if (last.kind === 'note' || last.speaker !== speakerOf(content, 'message')) return undefined;
  const isLonger = content.text?.startsWith(last.text) ?? deltaOf(content) !== null;
  return isLonger ? items.length - 1 : undefined;
}

type Conversion = (event: TimelineEvent, content: EventContent, before?: TimelineItem) => TimelineItem | undefined;

const CONVERSIONS: Readonly<Record<Kind, Conversion>> = { message: messageOf, tool: toolOf, note: noteOf };

function messageOf(event: TimelineEvent, content: EventContent, before?: TimelineItem): Message {
  const known = before?.kind === 'message' ? before : undefined;
  return {
    ...frameOf(event, content, 'message', before),
    kind: 'message',
    ...grownText(known?.text ?? '', known?.isCut ?? false, content),
    isThinking: content.responsePhase === 'commentary',
    isFinal: content.responsePhase === 'final_answer',
  };
}

/** A text with its next part. A whole text replaces what is known, unless that is already longer than what was loaded of it. */
function grownText(known: string, wasCut: boolean, content: EventContent): Pick<Message, 'text' | 'isCut'> {
  const { text: whole } = content;
  if (whole !== null && !isCut(whole)) return { text: whole, isCut: false };
  if (wasCut) return { text: known, isCut: true };
  const text = known + (deltaOf(content) ?? (whole === null ? plainMessage(content) : null) ?? '');
  return whole !== null && text.length < whole.length ? { text: whole, isCut: true } : { text, isCut: false };
}

function toolOf(event: TimelineEvent, content: EventContent, before?: TimelineItem): ToolCall {
  const tool = before?.kind === 'tool' ? before : undefined;
  const { toolResult: result } = content;
  const isInput = content.deltaType === 'input_json_delta' || (result === null && content.text !== null);
  const { text: input, isCut: inputIsCut } = isInput
    ? grownText(tool?.input ?? '', tool?.inputIsCut ?? false, content)
    : { text: tool?.input ?? '', isCut: tool?.inputIsCut ?? false };
  const shown = result?.output ?? (isInput ? null : (content.text ?? plainMessage(content)));
  const output = unwrapped(shown) ?? tool?.output ?? '';
  const status = result?.status ?? tool?.status ?? null;
  const error = unwrapped(result?.error) ?? tool?.error ?? null;
  const hasEnded = result?.status === 'completed' || result?.status === 'error';
  const exitCode = result?.exitCode ?? tool?.exitCode ?? null;
  return {
    ...frameOf(event, content, 'tool', before),
    kind: 'tool',
    callId: content.itemId ?? tool?.callId ?? null,
    name: content.toolName ?? tool?.name ?? 'Tool',
    input,
    status,
    output,
    error,
    exitCode,
    endedAt: hasEnded ? event.createdAt : (tool?.endedAt ?? null),
    isError: status === 'error' || (exitCode !== null && exitCode !== 0),
    inputIsCut,
    isCut: inputIsCut || isCut(output),
  };
}

/** Tags with which agents mark what kind of output a text is, such as `<tool_use_error>`; the item says that itself. */
const WRAPPER = /^\s*<((?:[a-z]+[_-])*(?:error|output|result|stderr|stdout))>\n?(.*?)\n?<\/\1>\s*$/is;

const unwrapped = (text: string | null | undefined): string | null | undefined =>
  text == null ? text : (WRAPPER.exec(text)?.[2] ?? text);

function noteOf(event: TimelineEvent, content: EventContent): Note | undefined {
  const { name, message, usage } = content;
  const said = content.text || plainMessage(content) || textInJson(message ?? '') || content.otherText;
  const text = [said, usage].filter(Boolean).join('\n');
  if (text === '' && FRAMES.test(name) && !ITEMS.test(name)) return undefined;
  const label = (name === 'line' ? 'output' : name).replaceAll(/[_.]/g, ' ');
  return {
    ...frameOf(event, content, 'note'),
    kind: 'note',
    label,
    text,
    json: text === '' ? (message ?? '') : '',
    isError: FAILURE.test(name),
    isCut: isCut(text),
  };
}

/** The message of the provider, if it is a text for people. */
const plainMessage = ({ message }: EventContent): string | null =>
  message === null || isJson(message) ? null : message;

/** A text of this length has been cut, unless it happens to end there. */
const isCut = (text: string) => text.length >= MAX_TEXT;

function frameOf(event: TimelineEvent, content: EventContent, kind: Kind, before?: TimelineItem): Omit<Item, 'isCut'> {
  const { databaseId: lastId, createdAt } = event;
  return {
    id: before?.id ?? lastId,
    lastId,
    at: before?.at ?? createdAt,
    speaker: before?.speaker ?? speakerOf(content, kind),
    scope: before ? before.scope : scopeOf(content),
    parentToolUseId: before?.parentToolUseId ?? content.parentToolUseId,
  };
}

const scopeOf = ({ scope }: EventContent): string | null => (scope === null || scope === 'foreground' ? null : scope);

const SPEAKERS: Readonly<Record<string, string>> = {
  user: 'User',
  assistant: 'Agent',
  agent: 'Agent',
  model: 'Agent',
  system: 'System',
  runner: 'Runner',
  tool: 'Tool',
};
const AGENTS: Readonly<Record<string, string>> = { subagent: 'Subagent', background: 'Background task' };

function speakerOf(content: EventContent, kind: Kind): string {
  if (kind === 'tool') return 'Tool';
  const { source } = content;
  const name =
    source === null
      ? kind === 'message'
        ? 'Agent'
        : 'System'
      : Object.hasOwn(SPEAKERS, source)
        ? (SPEAKERS[source] ?? source)
        : source;
  const scope = scopeOf(content);
  return name === 'Agent' && scope !== null && Object.hasOwn(AGENTS, scope) ? (AGENTS[scope] ?? name) : name;
}
