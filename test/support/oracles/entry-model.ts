import { agentOf, isFailure, kindOf, plainMessage } from '../../../src/domains/session-events/event-kind.ts';
import { separated } from '../../../src/domains/session-events/framing.ts';

/** A slow model of the entries of a session: it has all events and looks at all of them for each question. It knows no bounds. */

interface Data {
  readonly source?: string;
  readonly type?: string;
  readonly scope?: { readonly kind: string };
  readonly event?: { readonly event?: string };
  readonly itemId?: string;
  readonly index?: number;
  readonly delivery?: string;
  readonly delta?: string;
  readonly accumulatedText?: string;
  readonly deltaType?: string;
  readonly responsePhase?: string;
  readonly toolName?: string;
  readonly toolResult?: {
    readonly status?: string;
    readonly output?: string;
    readonly error?: string;
    readonly exitCode?: number;
  };
  readonly usage?: { readonly turns?: number };
}

export interface ModelEvent {
  readonly id: number;
  readonly createdAt: string;
  readonly messageId: string | null;
  readonly data: object;
}

interface Group {
  readonly kind: string;
  readonly key: string | undefined;
  readonly subagentId: string | null;
  readonly turn: number;
  readonly events: ModelEvent[];
}

export interface ModelEntry {
  readonly id: number;
  readonly kind: string;
  readonly turn: number;
  readonly subagentId: string | null;
  readonly events: readonly number[];
  readonly isFailed: boolean;
  readonly isFinal: boolean;
  readonly text: string;
  readonly output: string;
  readonly toolName: string | null;
}

const of = (event: ModelEvent) => event.data as Data;
const isRaw = (event: ModelEvent) => event.data as Readonly<Record<string, unknown>>;
const kindIn = (event: ModelEvent) => kindOf(isRaw(event));
const subagentIn = (event: ModelEvent) => {
  const kind = of(event).scope?.kind;
  return kind === 'subagent' || kind === 'background' ? (agentOf(isRaw(event)) ?? null) : null;
};
const wholeOf = (event: ModelEvent) => of(event).accumulatedText || undefined;
const partOf = (event: ModelEvent) => of(event).delta || (plainMessage(isRaw(event)) ?? '');

function textOf(events: readonly ModelEvent[]): string {
  const last = events.findLastIndex((event) => wholeOf(event) !== undefined);
  const whole = last === -1 ? '' : wholeOf(events[last] as ModelEvent);
  return `${whole}${events
    .slice(last + 1)
    .map(partOf)
    .join('')}`;
}

const inputsOf = (events: readonly ModelEvent[]) =>
  events.filter(
    (event) => kindIn(event) === 'call' && (wholeOf(event) !== undefined || of(event).deltaType === 'input_json_delta'),
  );

function outputOf(events: readonly ModelEvent[]): string {
  const last = events.findLast((event) => {
    const { output, error, exitCode } = of(event).toolResult ?? {};
    return kindIn(event) === 'result' || output != null || error != null || exitCode != null;
  });
  if (!last) return '';
  const { output, error } = of(last).toolResult ?? {};
  return output || error || (kindIn(last) === 'result' ? (wholeOf(last) ?? plainMessage(isRaw(last)) ?? '') : '');
}

export function modelOf(events: readonly ModelEvent[]): ModelEntry[] {
  const groups: Group[] = [];
  const ends: { readonly id: number; readonly before: number }[] = [];
  const turnOf = new Map<string, number>();
  let turn = 0;
  for (const event of events) {
    const data = of(event);
    const subagentId = subagentIn(event);
    const eventKind = kindIn(event);
    const isTool = eventKind === 'call' || eventKind === 'result';
    const isPerson = data.source === 'user' && (eventKind === 'message' || eventKind === 'thinking');
    const framed = isPerson && wholeOf(event) !== undefined ? separated(wholeOf(event) as string) : undefined;
    const isNote = eventKind === 'note' || (framed && framed.framing !== '' && framed.words.trim() === '');
    const kind = isNote
      ? 'note'
      : isTool
        ? 'toolCall'
        : isPerson
          ? 'userMessage'
          : eventKind === 'thinking'
            ? 'thinking'
            : 'agentMessage';
    const place =
      data.itemId ?? (event.messageId === null || isTool ? undefined : `${event.messageId} ${data.index ?? 0}`);
    const key =
      place === undefined || isNote ? undefined : isTool ? `call ${place}` : `text ${isPerson} ${subagentId} ${place}`;
    const call = groups.findLast((group) => group.key === `call ${subagentId}`);
    const ownTurn = subagentId === null ? turn : (turnOf.get(subagentId) ?? call?.turn ?? turn);
    if (eventKind !== 'frame') {
      if (subagentId !== null) turnOf.set(subagentId, ownTurn);
      const alike = groups.filter((group) => key !== undefined && group.key === key);
      const own = alike.findLast((group) => group.subagentId === subagentId);
      const first = alike.findLast((group) => group.subagentId === alike[0]?.subagentId);
      const isOpen = first?.events.every((each) => kindIn(each) !== 'result');
      const found = isTool
        ? (own ?? (eventKind === 'result' && isOpen ? first : undefined))
        : alike.findLast((group) => kind === 'userMessage' || group.turn === ownTurn);
      const isAgain =
        isTool &&
        eventKind === 'call' &&
        wholeOf(event) !== undefined &&
        found?.events.some((each) => kindIn(each) === 'result');
      const said = groups.findLast((group) => group.subagentId === subagentId && group.kind === 'agentMessage');
      const isRepeated =
        kind === 'agentMessage' &&
        (data.event?.event ?? data.type) === 'result' &&
        said &&
        textOf(said.events) === wholeOf(event);
      const isSilent = !isTool && !isNote && wholeOf(event) === undefined && partOf(event) === '';
      if (found && !isAgain) found.events.push(event);
      else if (!isRepeated && !isSilent) {
        if (kind === 'userMessage' && subagentId === null) {
          ends.push({ id: event.id, before: groups.length });
          turn += 1;
        }
        groups.push({
          kind,
          key,
          subagentId,
          turn: kind === 'userMessage' && subagentId === null ? turn : ownTurn,
          events: [event],
        });
      }
      if (eventKind === 'result') ends.push({ id: event.id, before: groups.length });
    }
    if (subagentId === null && (data.usage?.turns ?? 0) > 0) ends.push({ id: event.id, before: groups.length });
  }
  return groups.map((group, index) => {
    const { kind, events: own, subagentId } = group;
    const isLast = !groups
      .slice(index + 1)
      .some((other) => other.kind === kind && other.subagentId === subagentId && other.turn === group.turn);
    const isEnded = ends.some(({ id, before }) => {
      const ended = events.find((event) => event.id === id) as ModelEvent;
      const ofCall = kindIn(ended) === 'result' ? of(ended).itemId : undefined;
      const isEnd = ofCall === undefined ? kindIn(ended) !== 'result' || (of(ended).usage?.turns ?? 0) > 0 : false;
      return before > index && (subagentId === null ? isEnd : ofCall === subagentId);
    });
    const isPhase = own.some((event) => of(event).responsePhase === 'final_answer');
    const inputs = inputsOf(own);
    const words = textOf(kind === 'toolCall' ? inputs : own);
    return {
      id: own[0]?.id ?? 0,
      kind,
      turn: group.turn,
      subagentId,
      events: own.map(({ id }) => id),
      isFailed: own.some((event) => (kind === 'toolCall' || kind === 'note') && isFailure(isRaw(event))),
      isFinal: kind === 'agentMessage' && (isPhase || (isLast && isEnded)),
      text: kind === 'note' ? '' : kind === 'userMessage' ? separated(words).words : words,
      output: kind === 'toolCall' ? outputOf(own) : '',
      toolName: kind === 'toolCall' ? (own.map((event) => of(event).toolName).findLast(Boolean) ?? 'tool') : null,
    };
  });
}
