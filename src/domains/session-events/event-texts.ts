import { createHash } from 'node:crypto';
import { deltaOf, isLinePart, plainMessage } from './event-kind.ts';
import { objectOf } from './formats/format.ts';
import { separated } from './framing.ts';

/** What the fold of entries reads in the data of an event. */

type Data = Readonly<Record<string, unknown>>;

export interface FoldedEvent {
  readonly id: number;
  readonly createdAt: string;
  readonly messageId: string | null;
  readonly data: Data;
}

const MAX_NAME = 200;

export interface GivenText {
  /** The whole text so far. */
  readonly whole: string | undefined;
  /** What is added to it. */
  readonly part: string;
}

export function textIn(data: Data): GivenText {
  const whole = data['accumulatedText'];
  if (typeof whole === 'string' && whole !== '') return { whole, part: '' };
  const line = isLinePart(data) ? objectOf(data['event'])['message'] : plainMessage(data);
  return { whole: undefined, part: deltaOf(data) || (typeof line === 'string' ? line : '') };
}

/** What an event says of the input of a call. */
export function callInput(data: Data, hasEnded: boolean): GivenText {
  if (hasEnded) return { whole: undefined, part: '' };
  const whole = data['accumulatedText'];
  if (typeof whole === 'string' && whole !== '') return { whole, part: '' };
  return { whole: undefined, part: data['deltaType'] === 'input_json_delta' ? deltaOf(data) : '' };
}

export const isPart = (data: Data, { whole }: GivenText) =>
  data['delivery'] === 'realtime' || typeof data['delta'] === 'string' || whole === undefined;

export const isFraming = (text: string) => {
  const { framing, words } = separated(text);
  return framing !== '' && words.trim() === '';
};

/** Where the text of an event belongs; undefined if it names no place. */
export function placeOf({ data, messageId }: Pick<FoldedEvent, 'data' | 'messageId'>): string | undefined {
  const agent = agentKey(subagentOf(data));
  // Some use one id for what a person and what the agent says.
  const by = data['source'] === 'user' ? 'u' : 't';
  const itemId = idOf(data['itemId']);
  if (itemId !== null) return `${by}${digestOf(`${agent} ${itemId}`)}`;
  return messageId === null ? undefined : `${by}${digestOf(`${agent} ${messageId}:${placeIn(data) ?? 0}`)}`;
}

/** Whether a text goes on with that of an item without an id. */
export function continues(
  { length, hash }: { readonly length: number; readonly hash: number },
  { whole }: GivenText,
): boolean {
  return whole === undefined || (whole.length >= length && hashed(whole.slice(0, length), 0) === hash);
}

/** The end of a run repeats the last message of some agents. */
export function repeatsLast(
  { lastLength, lastHash }: { readonly lastLength?: number; readonly lastHash?: number },
  data: Data,
  whole: string | undefined,
): boolean {
  const { event } = objectOf(data['event']);
  const isResult = (event ?? data['type']) === 'result';
  return isResult && whole !== undefined && whole.length === lastLength && hashed(whole, 0) === lastHash;
}

/** The subagent or background task that acts: the call that started it, or its task. Null for the agent itself. */
export function subagentOf(data: Data): string | null {
  const { kind, parentToolUseId, taskId } = objectOf(data['scope']);
  if (kind !== 'subagent' && kind !== 'background') return null;
  return idOf(parentToolUseId) ?? idOf(taskId) ?? kind;
}

/** An id of an agent. In place of a long one its digest is stored. */
export function idOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value.length <= MAX_NAME ? value : digestOf(value);
}

export const callKey = (callId: string) => `c${digestOf(callId)}`;
export const agentKey = (subagentId: string | null) => (subagentId === null ? '' : digestOf(subagentId));

export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_NAME).toWellFormed() : undefined;
}

/** The parts of a text come one after the other, and have the same. */
let last = { text: '', digest: '' };

function digestOf(text: string): string {
  if (text !== last.text || text === '')
    last = { text, digest: createHash('sha256').update(text).digest('base64url').slice(0, 16) };
  return last.digest;
}

/** Goes on with a hash of the text before, so that it is the same whatever the parts. */
export function hashed(text: string, before: number): number {
  let hash = before;
  for (let index = 0; index < text.length; index += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return hash;
}

/** The place of a text in its message. */
export const placeIn = ({ index }: Data) => (typeof index === 'number' ? index : undefined);
