/**
 * A generated run of a coding agent, as a runner would record it. The same arguments yield the same events. It has at
 * least 20 events, so that it has a beginning and an end.
 */
import {
  AFTER,
  ANSWER,
  BEFORE,
  type Call,
  DELEGATION,
  HELPER,
  HELPER_CALL,
  type Turn,
  WATCHER,
} from './agent-run-story.ts';

export const MIN_EVENTS = 20;
const STARTED_AT = Date.parse('2026-03-01T09:00:00.000Z');

interface Scope {
  kind: 'foreground' | 'subagent' | 'background';
  parentToolUseId?: string;
  taskId?: string;
}

interface Draft {
  eventType: string;
  messageId: string | null;
  provider: string;
  eventData: { type: string; scope: Scope; [field: string]: unknown };
}

/** One event of the run. */
export interface AgentEvent extends Draft {
  createdAt: string;
}

type Random = () => number;

const FOREGROUND: Scope = { kind: 'foreground' };

/** The event names of each provider. */
const EVENT_NAMES = {
  anthropic: {
    start: 'message_start',
    text_delta: 'content_block_delta',
    input_json_delta: 'content_block_delta',
    stop: 'message_stop',
  },
  openai_responses: {
    start: 'response.created',
    text_delta: 'response.output_text.delta',
    input_json_delta: 'response.function_call_arguments.delta',
    stop: 'response.completed',
  },
};

/**
 * Yields exactly `count` events: as many complete rounds of work as fit, then the final answer, split into the
 * remaining number of deltas.
 */
export function* agentRun(count: number, seed = 1, startedAt = STARTED_AT): Generator<AgentEvent, void, undefined> {
  const random = randomOf(seed);
  let time = startedAt;
  const stamp = ({ eventData, ...draft }: Draft): AgentEvent => {
    time += 5 + Math.floor(random() * 90);
    const createdAt = new Date(time).toISOString();
    return {
      ...draft,
      createdAt,
      eventData: 'snapshotId' in eventData ? { ...eventData, snapshotCreatedAt: createdAt } : eventData,
    };
  };
  yield stamp(runnerEvent('session_started', { workingDirectory: '/workspace/shop' }));
  let left = count - 1;
  for (let work = roundOf(random); work.length + MIN_EVENTS <= left; work = roundOf(random)) {
    yield* work.map(stamp);
    left -= work.length;
  }
  const answer = new Message(random, FOREGROUND);
  // The final answer also has events for the start and stop of the message, a snapshot, and the end of the run.
  answer.say(evenPieces(ANSWER, left - 4), 'final_answer');
  yield* [...answer.finish(), snapshotOf(random), runnerEvent('session_finished', { outcome: 'completed' })].map(stamp);
}

/** One round: the agent works, starts a subagent, watches in the background, and continues. */
function roundOf(random: Random): Draft[] {
  const delegation = new Message(random, FOREGROUND);
  delegation.say(wordPieces(random, DELEGATION), 'commentary');
  const toolUseId = delegation.begin(HELPER_CALL);
  const helper: Scope = { kind: 'subagent', parentToolUseId: toolUseId, taskId: `task_${token(random)}` };
  const watcher: Scope = { kind: 'background', taskId: `task_${token(random)}` };
  return [
    ...BEFORE.flatMap((turn) => turnOf(random, FOREGROUND, turn)),
    ...delegation.drain(),
    ...HELPER.flatMap((turn) => turnOf(random, helper, turn)),
    ...delegation.end(HELPER_CALL, toolUseId).finish(),
    ...AFTER.flatMap((turn) => turnOf(random, FOREGROUND, turn)),
    ...turnOf(random, watcher, WATCHER),
    snapshotOf(random),
  ];
}

function turnOf(random: Random, scope: Scope, { say, calls }: Turn): Draft[] {
  const message = new Message(random, scope);
  message.say(wordPieces(random, say), 'commentary');
  for (const call of calls) message.end(call, message.begin(call));
  return message.finish();
}

/** One message of a model with its tool calls; `index` counts blocks, `sequenceNumber` counts events. */
class Message {
  readonly #random: Random;
  readonly #scope: Scope;
  readonly #id: string;
  readonly #provider: keyof typeof EVENT_NAMES;
  #events: Draft[] = [];
  #index = -1;
  #sequenceNumber = 0;

  constructor(random: Random, scope: Scope) {
    this.#random = random;
    this.#scope = scope;
    this.#id = uuid(random);
    // The subagent uses another provider than the agent.
    this.#provider = scope.kind === 'subagent' ? 'openai_responses' : 'anthropic';
    this.#fromProvider('start', { role: 'assistant' }, {});
  }

  say(pieces: readonly string[], responsePhase: 'commentary' | 'final_answer'): void {
    this.#block(pieces, { itemId: `item_${token(this.#random)}`, deltaType: 'text_delta', responsePhase });
  }

  /** The model streams the input of a tool, and the tool starts. Returns the id of the call. */
  begin(call: Call): string {
    const toolUseId = `toolu_${token(this.#random)}`;
    this.#block(jsonPieces(this.#random, call.input), {
      itemId: toolUseId,
      deltaType: 'input_json_delta',
      toolName: call.tool,
    });
    this.#toolResult(call, toolUseId, { status: 'running', output: '' });
    return toolUseId;
  }

  /** The tool prints its output line by line and ends. */
  end(call: Call, toolUseId: string): this {
    const { output, exitCode } = call;
    const printed = (lines: number) => output.slice(0, lines).join('\n');
    for (let lines = 1; lines < output.length; lines += 1)
      this.#toolResult(call, toolUseId, { status: 'running', output: printed(lines) });
    const outcome = exitCode
      ? { status: 'error', error: `the command ended with code ${exitCode}` }
      : { status: 'completed' };
    this.#toolResult(call, toolUseId, {
      ...outcome,
      output: printed(output.length),
      ...(exitCode !== undefined && { exitCode }),
    });
    return this;
  }

  finish(): Draft[] {
    this.#fromProvider('stop', {}, {});
    return this.drain();
  }

  /** The events since the last call. */
  drain(): Draft[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #block(
    pieces: readonly string[],
    fields: { deltaType: 'text_delta' | 'input_json_delta'; [field: string]: unknown },
  ): void {
    this.#index += 1;
    let accumulatedText = '';
    for (const delta of pieces) {
      accumulatedText += delta;
      this.#fromProvider(
        fields.deltaType,
        { index: this.#index, delta },
        { ...fields, index: this.#index, accumulatedText },
      );
    }
  }

  #fromProvider(kind: 'start' | 'text_delta' | 'input_json_delta' | 'stop', payload: object, fields: object): void {
    const event = EVENT_NAMES[this.#provider][kind];
    const message = JSON.stringify({ type: event, ...payload });
    this.#push('stream_event', {
      providerEvent: true,
      delivery: 'realtime',
      event: { event, message, provider: this.#provider, messageId: this.#id },
      ...fields,
    });
  }

  #toolResult(call: Call, toolUseId: string, toolResult: { status: string; output: string }): void {
    const delivery = toolResult.status === 'running' ? 'realtime' : 'persist';
    this.#push('tool_result', {
      providerEvent: false,
      delivery,
      index: this.#index,
      itemId: toolUseId,
      toolName: call.tool,
      toolResult,
    });
  }

  #push(type: string, fields: object): void {
    this.#sequenceNumber += 1;
    const eventData = { type, scope: this.#scope, source: 'agent', sequenceNumber: this.#sequenceNumber, ...fields };
    this.#events.push({ eventType: type, messageId: this.#id, provider: this.#provider, eventData });
  }
}

/** The gateway also keeps undocumented fields, such as `workingDirectory`. */
function runnerEvent(type: string, fields: object): Draft {
  const eventData = { type, scope: FOREGROUND, source: 'runner', providerEvent: false, delivery: 'persist', ...fields };
  return { eventType: 'session', messageId: null, provider: 'anthropic', eventData };
}

function snapshotOf(random: Random): Draft {
  const snapshot = runnerEvent('snapshot', {
    snapshotId: `snap_${token(random)}`,
  });
  return { ...snapshot, eventType: 'snapshot' };
}

/** Deltas as models send them: one to three words. */
function wordPieces(random: Random, text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? [];
  const pieces: string[] = [];
  while (words.length > 0) pieces.push(words.splice(0, 1 + Math.floor(random() * 3)).join(''));
  return pieces;
}

function jsonPieces(random: Random, input: object): string[] {
  return evenPieces(JSON.stringify(input), 2 + Math.floor(random() * 3));
}

/** Splits text between characters, never within one. */
function evenPieces(text: string, count: number): string[] {
  const characters = Array.from(text);
  const at = (piece: number) => Math.floor((piece * characters.length) / count);
  return Array.from({ length: count }, (_, piece) => characters.slice(at(piece), at(piece + 1)).join(''));
}

function token(random: Random): string {
  return Array.from({ length: 12 }, () => Math.floor(random() * 36).toString(36)).join('');
}

/** A version 4 UUID (RFC 9562, section 5.4) from the seeded generator. */
function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  const variant = '89ab'.charAt(Math.floor(random() * 4));
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-${variant}${digits.slice(17, 20)}-${digits.slice(20)}`;
}

/** Mulberry32: small, and the same on every machine. */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
