import { isFailure, isLinePart, isOfProgram, kindOf, plainLine } from './event-kind.ts';
import {
  type FoldedEvent,
  type GivenText,
  agentKey,
  callInput,
  callKey,
  continues,
  hashed,
  idOf,
  isFraming,
  isPart,
  nameOf,
  placeIn,
  placeOf,
  repeatsLast,
  subagentOf,
  textIn,
} from './event-texts.ts';
import { type Agent, type FoldMemory, type Item, NO_MEMORY } from './fold-memory.ts';
import { objectOf } from './formats/format.ts';

/**
 * The fold of the events of a session into entries: what people read. It takes events in their order and says what changes in which entry, so
 * that it goes on where it has stopped. What it remembers is bounded.
 */

export const ENTRY_KINDS = ['userMessage', 'agentMessage', 'thinking', 'toolCall', 'note'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** What an entry is from its beginning. */
export interface EntryBegin {
  readonly kind: EntryKind;
  readonly turn: number;
  readonly startedAt: string;
  readonly subagentId: string | null;
  /** The id of the call, which a subagent that it starts has. */
  readonly callId: string | null;
}

/** What events change in an entry. What is absent stays. */
export interface EntryChange {
  readonly id: number;
  /** Set for a new entry. */
  begin?: EntryBegin;
  lastEventId?: number;
  /** Null while the entry is open. */
  endedAt?: string | null;
  /** The events that say that it has failed. */
  failed?: number[];
  isFinal?: boolean;
  toolName?: string;
  model?: string;
  startsSubagent?: true;
  /** The events that are added. */
  readonly events: number[];
  /** Those of the events that have the text, or the input of a call. */
  parts: number[];
  /** Whether `parts` take the place of those before: the last event with a whole text says all. */
  isWhole?: true;
  /** The event with the output of a call. */
  outputId?: number;
  /** Set when the end of the session has changed the entry: the last event before it. */
  closedWith?: number;
}

const MAX_ITEMS = 200;
const MAX_AGENTS = 50;
/** Characters of a text of parts whose whole never came. */
export const MAX_JOINED = 120_000;

export class EntryFold {
  readonly changes = new Map<number, EntryChange>();
  readonly #items: Map<string, Item>;
  readonly #agents: Map<string, Agent>;
  #turn: number;

  /** @param memory JSON of what was remembered; null at the beginning */
  constructor(memory: string | null = null) {
    const { turn, items, agents } = JSON.parse(memory ?? NO_MEMORY) as FoldMemory;
    this.#turn = turn;
    this.#items = new Map(items.map((item) => [item.key, item]));
    this.#agents = new Map(agents.map((agent) => [agent.key, agent]));
  }

  get memory(): string {
    const memory: FoldMemory = {
      turn: this.#turn,
      items: [...this.#items.values()],
      agents: [...this.#agents.values()],
    };
    return JSON.stringify(memory);
  }

  /** @returns the entry of the event, as far as it was changed; undefined if it is in none */
  add(event: FoldedEvent): EntryChange | undefined {
    const { data } = event;
    const kind = kindOf(data);
    const subagentId = subagentOf(data);
    if (isLinePart(data)) return this.#addLinePart(event, this.#agents.get(agentKey(subagentId)));
    const usage = objectOf(data['usage']);
    const model = nameOf(usage['model']);
    let change: EntryChange | undefined;
    if (kind !== 'frame') {
      const agent = this.#agentOf(event, subagentId);
      if (model !== undefined) agent.model = model;
      if (kind === 'call' || kind === 'result')
        change = this.#addOfTool(event, agent, { subagentId, hasEnded: kind === 'result' });
      else if (kind === 'note') change = this.#addNote(event, agent, subagentId);
      else if (isOfProgram(data)) change = this.#addLine(event, agent, subagentId);
      else change = this.#addText(event, agent, { subagentId, kind });
    }
    if (subagentId === null && typeof usage['turns'] === 'number' && usage['turns'] > 0) this.#endTurn(event.id);
    return change;
  }

  /** The session is finished: nothing stays open. @param lastId the last event */
  end(lastId: number, at: string): void {
    for (const item of this.#items.values()) {
      if (!item.isOpen) continue;
      [item.isOpen, item.isDone] = [false, true];
      Object.assign(this.#changeOf(item.id), { endedAt: at, closedWith: lastId });
    }
    for (const agent of this.#agents.values()) {
      delete agent.open;
      if (agent.lastId === undefined || agent.isEnded === true) continue;
      agent.isEnded = true;
      if (!agent.isAnswer) Object.assign(this.#changeOf(agent.lastId), { isFinal: true, closedWith: lastId });
    }
  }

  #addText(
    event: FoldedEvent,
    agent: Agent,
    { subagentId, kind: found }: { readonly subagentId: string | null; readonly kind: 'message' | 'thinking' },
  ): EntryChange | undefined {
    const { data, id } = event;
    const text = textIn(data);
    const kind = data['source'] === 'user' ? 'userMessage' : found === 'thinking' ? 'thinking' : 'agentMessage';
    if (kind === 'userMessage' && text.whole !== undefined && isFraming(text.whole))
      return this.#addNote(event, agent, subagentId);
    const likeness = `${kind} ${placeIn(data) ?? ''}`;
    const known = this.#itemOf(
      placeOf(event),
      agent,
      // What a person says twice is said twice; agents repeat themselves within a turn.
      (item) =>
        item.likeness === likeness &&
        (item.isOpen || isPart(data, text) || (kind !== 'userMessage' && !isOfEndedTurn(agent, item))) &&
        continues(item, text),
    );
    const item = known?.turn === agent.turn || kind === 'userMessage' ? known : undefined;
    if (!item) {
      if (text.whole === undefined && text.part === '') return undefined;
      if (kind === 'agentMessage' && repeatsLast(agent, data, text.whole)) return undefined;
    }
    this.#closeOther(agent, item, id);
    if (!item && kind === 'userMessage' && subagentId === null) {
      this.#endTurn(id);
      agent.turn = this.#turn += 1;
    }
    const grown = item ?? this.#begin(event, agent, { kind, subagentId, likeness, place: placeOf(event) });
    const change = this.#extend(event, grown, agent);
    if (text.whole !== undefined || text.part !== '') this.#grow(event, agent, grown, text);
    if (grown.isMessage) this.#setLast(agent, grown, event);
    return change;
  }

  #grow({ id, data, createdAt }: FoldedEvent, agent: Agent, item: Item, text: GivenText): void {
    const change = this.#changeOf(item.id);
    if (text.whole !== undefined) [change.parts, change.isWhole, item.length, item.hash] = [[id], true, 0, 0];
    else if (item.length <= MAX_JOINED) change.parts.push(id);
    item.hash = hashed(text.whole ?? text.part, item.hash);
    item.length += (text.whole ?? text.part).length;
    item.isOpen = item.isDone !== true && isPart(data, text);
    change.endedAt = item.isOpen ? null : createdAt;
    if (item.isOpen) [agent.open, agent.at] = [item.key, createdAt];
    else if (agent.open === item.key) delete agent.open;
  }

  /** The last message of an agent. One that was final because its turn had ended is not when another follows. */
  #setLast(agent: Agent, item: Pick<Item, 'id' | 'length' | 'hash'>, { id, data }: FoldedEvent): void {
    const isAnswer = data['responsePhase'] === 'final_answer';
    if (isAnswer) this.#changeOf(item.id).isFinal = true;
    if (agent.lastId !== undefined && item.id < agent.lastId) return;
    if (agent.lastId !== item.id) {
      if (agent.isEnded === true && agent.lastId !== undefined && agent.lastTurn === agent.turn && !agent.isAnswer)
        Object.assign(this.#changeOf(agent.lastId), { isFinal: false, lastEventId: id });
      Object.assign(agent, { lastId: item.id, lastTurn: agent.turn, isEnded: false, isAnswer: false });
    }
    Object.assign(agent, { lastLength: item.length, lastHash: item.hash });
    if (isAnswer) agent.isAnswer = true;
  }

  #addOfTool(
    event: FoldedEvent,
    agent: Agent,
    { subagentId, hasEnded }: { readonly subagentId: string | null; readonly hasEnded: boolean },
  ): EntryChange {
    const { data, id } = event;
    const callId = idOf(data['itemId']);
    const name = nameOf(data['toolName']);
    const result = objectOf(data['toolResult']);
    const input = callInput(data, hasEnded);
    const shared = callId === null ? undefined : callKey(callId);
    const place = shared === undefined ? undefined : this.#placeOfCall(shared, agent, hasEnded);
    const known = this.#itemOf(
      place,
      agent,
      (item) =>
        item.isOpen &&
        item.key.startsWith('#c') &&
        Object.keys(result).length > 0 &&
        (name === undefined || item.likeness === name),
    );
    // Some agents use the ids of calls again.
    const isAgain = known?.isOpen === false && !hasEnded && input.whole !== undefined;
    const item = isAgain ? undefined : known;
    this.#closeOther(agent, item, id);
    const call =
      item ?? this.#begin(event, agent, { kind: 'toolCall', subagentId, callId, place, likeness: name ?? '' });
    const change = this.#extend(event, call, agent);
    if (name !== undefined) change.toolName = name;
    if (input.whole !== undefined) [change.parts, change.isWhole] = [[id], true];
    else if (input.part !== '' && call.length <= MAX_JOINED) change.parts.push(id);
    call.length = input.whole === undefined ? call.length + input.part.length : 0;
    if (hasEnded || result['output'] != null || result['error'] != null || result['exitCode'] != null)
      change.outputId = id;
    if (hasEnded) call.isOpen = false;
    if (hasEnded) change.endedAt = event.createdAt;
    else if (call.isOpen) change.endedAt = null;
    if (isFailure(data, hasEnded ? 'result' : 'call')) (change.failed ??= []).push(id);
    const started = callId !== null && hasEnded && place === shared ? this.#agents.get(agentKey(callId)) : undefined;
    if (started) this.#finishLast(started, id);
    return change;
  }

  /** Agents can use the same id for calls of their own. The end of an open call can come from another agent. */
  #placeOfCall(shared: string, agent: Agent, hasEnded: boolean): string {
    const own = `${shared} ${agent.key}`;
    if (this.#items.has(own)) return own;
    const first = this.#items.get(shared);
    const isOfOther = first !== undefined && (first.by ?? '') !== agent.key;
    return isOfOther && !(hasEnded && first.isOpen) ? own : shared;
  }

  /** An entry of one event, or of the parts of a long line. */
  #addNote(
    event: FoldedEvent,
    agent: Agent,
    subagentId: string | null,
    kind: 'note' | 'agentMessage' = 'note',
  ): EntryChange {
    this.#closeOther(agent, undefined, event.id);
    delete agent.unnamed;
    const { id, createdAt, data } = event;
    const begin: EntryBegin = { kind, turn: agent.turn, startedAt: createdAt, subagentId, callId: null };
    const change: EntryChange = { id, begin, lastEventId: id, endedAt: createdAt, events: [id], parts: [id] };
    if (isFailure(data)) change.failed = [id];
    this.changes.set(id, change);
    const partsLeft = plainLine(data) === undefined ? 0 : Number(objectOf(data['line'])['parts'] ?? 1) - 1;
    if (partsLeft > 0) {
      agent.unnamed = `#l${id}`;
      this.#remember({ key: agent.unnamed, id, turn: agent.turn, isOpen: false, length: 0, hash: 0, partsLeft });
    }
    return change;
  }

  /** A line that a program has written is a message. */
  #addLine(event: FoldedEvent, agent: Agent, subagentId: string | null): EntryChange {
    const change = this.#addNote(event, agent, subagentId, 'agentMessage');
    if (agent.model !== undefined) change.model = agent.model;
    const { part } = textIn(event.data);
    this.#setLast(agent, { id: event.id, length: part.length, hash: hashed(part, 0) }, event);
    return change;
  }

  /** Those of lines that are JSON say nothing. */
  #addLinePart({ id, createdAt }: FoldedEvent, agent: Agent | undefined): EntryChange | undefined {
    const item = this.#items.get(agent?.unnamed ?? '');
    if (!agent || item?.partsLeft === undefined) return undefined;
    const change = this.#changeOf(item.id);
    change.events.push(id);
    change.parts.push(id);
    Object.assign(change, { lastEventId: id, endedAt: createdAt });
    item.partsLeft -= 1;
    if (item.partsLeft === 0) delete agent.unnamed;
    return change;
  }

  #agentOf({ id }: FoldedEvent, subagentId: string | null): Agent {
    const key = agentKey(subagentId);
    const known = this.#agents.get(key);
    if (known) {
      if (subagentId === null) known.turn = this.#turn;
      return touched(this.#agents, known);
    }
    const call = subagentId === null ? undefined : this.#items.get(callKey(subagentId));
    if (call) Object.assign(this.#changeOf(call.id), { startsSubagent: true, lastEventId: id });
    const agent: Agent = { key, turn: call?.turn ?? this.#turn };
    this.#agents.set(key, agent);
    if (this.#agents.size > MAX_AGENTS) this.#agents.delete([...this.#agents.keys()].find((old) => old !== '') ?? '');
    return agent;
  }

  /** The item with this place; without one, the last of the agent, if the event continues it. */
  #itemOf(place: string | undefined, agent: Agent, isContinued: (item: Item) => boolean): Item | undefined {
    const key = place ?? agent.unnamed;
    const item = key === undefined ? undefined : this.#items.get(key);
    return item && (place !== undefined || isContinued(item)) ? touched(this.#items, item) : undefined;
  }

  #begin(
    { id, createdAt, data }: FoldedEvent,
    agent: Agent,
    {
      place,
      likeness,
      callId = null,
      ...begin
    }: Pick<EntryBegin, 'kind' | 'subagentId'> & {
      callId?: string | null;
      place: string | undefined;
      likeness: string;
    },
  ): Item {
    const isCall = begin.kind === 'toolCall';
    const item: Item = {
      key: place ?? `#${isCall ? 'c' : 't'}${id}`,
      id,
      turn: agent.turn,
      isOpen: true,
      length: 0,
      hash: 0,
      ...(place === undefined && { likeness }),
      ...(begin.kind === 'agentMessage' && { isMessage: true }),
      ...(isCall && agent.key !== '' && { by: agent.key }),
    };
    this.#remember(item);
    const change = this.#changeOf(id);
    change.begin = { ...begin, callId, turn: agent.turn, startedAt: createdAt };
    if (isCall) change.toolName = nameOf(data['toolName']) ?? 'tool';
    return item;
  }

  #remember(item: Item): void {
    touched(this.#items, item);
    if (this.#items.size <= MAX_ITEMS) return;
    for (const { key, isOpen } of this.#items.values()) if (!isOpen) return void this.#items.delete(key);
    for (const key of this.#items.keys()) return void this.#items.delete(key);
  }

  #extend({ id }: FoldedEvent, item: Item, agent: Agent): EntryChange {
    const change = this.#changeOf(item.id);
    change.events.push(id);
    change.lastEventId = id;
    if (agent.model !== undefined) change.model = agent.model;
    if (item.key.startsWith('#')) agent.unnamed = item.key;
    else delete agent.unnamed;
    return change;
  }

  /** An agent writes one text after the other. */
  #closeOther(agent: Agent, item: Item | undefined, id: number): void {
    if (agent.open === undefined || agent.open === item?.key) return;
    const open = this.#items.get(agent.open);
    delete agent.open;
    if (!open?.isOpen) return;
    open.isOpen = false;
    Object.assign(this.#changeOf(open.id), { endedAt: agent.at, lastEventId: id });
  }

  #endTurn(id: number): void {
    const agent = this.#agents.get('');
    if (!agent) return;
    this.#closeOther(agent, undefined, id);
    this.#finishLast(agent, id);
  }

  #finishLast(agent: Agent, id: number): void {
    if (agent.lastId === undefined || agent.isEnded === true) return;
    agent.isEnded = true;
    if (!agent.isAnswer) Object.assign(this.#changeOf(agent.lastId), { isFinal: true, lastEventId: id });
  }

  #changeOf(id: number): EntryChange {
    let change = this.changes.get(id);
    if (!change) this.changes.set(id, (change = { id, events: [], parts: [] }));
    return change;
  }
}

/** Whether the turn of an agent has ended since its last message. */
const isOfEndedTurn = (agent: Agent, item: Item): boolean => agent.isEnded === true && item.id === agent.lastId;

function touched<Value extends { readonly key: string }>(map: Map<string, Value>, value: Value): Value {
  map.delete(value.key);
  map.set(value.key, value);
  return value;
}
