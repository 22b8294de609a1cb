import {
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  entryOf,
  errorText,
  mediaText,
  modelOf,
  nameOf,
  noteOf,
  objectOf,
  textDraft,
  textOf,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { opencode } from './opencode.ts';

/**
 * The files that OpenCode kept of its sessions: one of JSON for the session, for each message and for each part of it, which the recorder sends one a
 * line. Parts are those of the stream. The shapes are those of `packages/opencode/src/session/message-v2.ts` in anomalyco/opencode; the numbers in
 * comments are those of `transcripts.md`.
 */

type Part = (part: JsonObject, memory: FormatMemory) => readonly Draft[];

/** A part as the stream of the agent has it. */
const streamed =
  (type: 'text' | 'reasoning' | 'tool_use' | 'step_finish'): Part =>
  (part, memory) =>
    opencode.types[type]?.({ part }, memory) ?? [];

/** A part is written anew until it ends (28). What has ended is counted once. */
const once =
  (convert: Part, hasEnded: (part: JsonObject) => boolean): Part =>
  (part, memory) => {
    const name = `part ${textOf(part['id']) ?? ''}`;
    if (memory.recall('said', name) !== undefined) return [{ name: 'repeated' }];
    if (hasEnded(part)) memory.remember('said', name, true);
    return convert(part, memory);
  };

const stateOf = (part: JsonObject) => objectOf(part['state']);
const hasEnded = (part: JsonObject) => stateOf(part)['status'] === 'completed' || stateOf(part)['status'] === 'error';

/** The call of a subagent names its session (30). An output that was removed later is that of a call which has ended (28). */
const tool: Part = (part, memory) => {
  const state = stateOf(part);
  if (objectOf(state['time'])['compacted'] !== undefined) return [{ name: 'repeated' }];
  if (state['status'] === 'pending') return [{}];
  const agent = nameOf(objectOf(state['metadata'])['sessionId']);
  const call = nameOf(part['callID']) ?? nameOf(part['id']);
  if (agent !== undefined && call !== undefined) memory.remember('calls', `agent ${agent}`, call);
  return streamed('tool_use')(part, memory).filter(({ source }) => source !== 'tool' || hasEnded(part));
};

/** Texts of the person, and those that the program has added to them (27). */
const text: Part = (part, memory) => {
  if (memory.recall('messages', textOf(part['messageID']) ?? '') !== 'user') return streamed('text')(part, memory);
  const itemId = nameOf(part['id']);
  const said = textDraft(textOf(part['text']) ?? '', { source: 'user', ...(itemId !== undefined && { itemId }) });
  return [part['synthetic'] === true || part['ignored'] === true ? noteOf(said) : said];
};

/** The model is that of the message. */
const stepFinish: Part = (part, memory) => {
  const model = modelOf(memory.get('model'));
  return streamed('step_finish')(part, memory).map((draft) => ({ ...draft, usage: { ...draft.usage, model } }));
};

const PARTS: Readonly<Record<string, Part>> = {
  text,
  reasoning: streamed('reasoning'),
  tool: once(tool, hasEnded),
  'step-finish': once(stepFinish, () => true),
  file: (part) => [{ source: 'user', accumulatedText: mediaText(part) ?? '' }],
  subtask: (part) => [noteOf({ accumulatedText: textOf(part['prompt']) ?? '' })],
  retry: ({ error }) => [{ name: 'error', accumulatedText: errorText(error) ?? '' }],
};

/** The time of a part, or of its message. */
function timed(line: JsonObject, drafts: readonly Draft[]): readonly Draft[] {
  const { start, created } = objectOf(line['time']);
  const time = start ?? created ?? stateTime(line);
  return time === undefined ? drafts : drafts.map((draft) => ({ ...draft, time }));
}
const stateTime = (line: JsonObject) => objectOf(stateOf(line)['time'])['start'];

/** Messages say who speaks in their parts; sessions have a title (25). */
const others: Convert = (line, memory) => {
  const [id, role] = [nameOf(line['id']), nameOf(line['role'])];
  if (line['messageID'] !== undefined) {
    const name = textOf(line['type']) ?? 'part';
    const drafts = entryOf(PARTS, name)?.(line, memory) ?? [{}];
    return timed(line, drafts);
  }
  if (role === undefined) return [{ name: 'title', accumulatedText: textOf(line['title']) ?? '' }];
  if (id !== undefined) memory.remember('messages', id, role);
  memory.set('model', modelOf(line['modelID']));
  const error = errorText(line['error']);
  return timed(line, [error === undefined ? { name: 'message' } : { name: 'error', accumulatedText: error }]);
};

export const opencodeStorage: Format = { provider: 'opencode', types: {}, others };
