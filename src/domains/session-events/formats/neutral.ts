import {
  type Convert,
  type Draft,
  type JsonObject,
  amountOf,
  contentText,
  entryOf,
  errorText,
  listOf,
  nameOf,
  objectOf,
  textDraft,
  textOf,
  toolCall,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';

/** Lines of agents, or of types, that no format knows: the members that most of them have in common. */

/** Members that have the message of a line. */
const CONTAINERS = ['message', 'data', 'event', 'payload', 'item', 'part'];
const ROLES: Readonly<Record<string, NonNullable<Draft['source']>>> = {
  user: 'user',
  human: 'user',
  system: 'system',
  developer: 'system',
  tool: 'tool',
  toolResult: 'tool',
};
const TEXTS = ['text', 'content', 'message', 'output_text', 'parts'];
const CALL_IDS = ['toolCallId', 'tool_call_id', 'tool_use_id', 'callId', 'call_id'];
const TOOL_NAMES = ['toolName', 'tool_name', 'tool', 'name'];
const INPUTS = ['arguments', 'args', 'input', 'parameters'];
const OUTPUTS = ['result', 'output', 'toolResult', 'response'];
const CALL_TYPE = /tool.?(?:use|call)$|function_?call$/i;

const firstOf = (object: JsonObject, names: readonly string[]) =>
  names.map((name) => object[name]).find((value) => value !== undefined && value !== null);

export const neutral: Convert = (line, memory) => {
  for (const object of [...CONTAINERS.map((name) => objectOf(line[name])), line]) {
    const drafts = draftsOf(object, memory, sourceOf(object) ?? sourceOf(line));
    if (drafts.length > 0) return drafts;
  }
  return [{}];
};

/** Who speaks; undefined if the object does not say so. */
function sourceOf(object: JsonObject): Draft['source'] {
  const role = textOf(object['role']) ?? textOf(object['sender']) ?? textOf(object['author']) ?? '';
  if (role !== '') return speakerOf(role);
  return /^user\b/.test(textOf(object['type']) ?? '') ? 'user' : undefined;
}

/** Who has a role, in the words of most agents. */
export const speakerOf = (role: string): NonNullable<Draft['source']> => entryOf(ROLES, role) ?? 'assistant';

function draftsOf(object: JsonObject, memory: FormatMemory, source: Draft['source'] = 'assistant'): readonly Draft[] {
  const tool = toolDraft(object, memory);
  if (tool) return [tool];
  const found = firstOf(object, TEXTS);
  if (!Array.isArray(found)) {
    const text = textOf(found);
    const error = text === undefined ? errorText(object['error']) : undefined;
    if (error !== undefined) return [{ name: 'error', accumulatedText: error }];
    return text === undefined || text === '' ? [] : [said(text, source, memory)];
  }
  return blockDrafts(found, memory, source);
}

/** A list of texts, and of blocks with texts, calls or results. */
export const blockDrafts = (blocks: unknown, memory: FormatMemory, source: Draft['source']): readonly Draft[] =>
  listOf(blocks).flatMap((each) => {
    const block = objectOf(each);
    const draft = toolDraft(block, memory);
    if (draft) return [draft];
    const text = typeof each === 'string' ? each : (textOf(block['text']) ?? '');
    return text === '' ? [] : [said(text, source, memory)];
  });

/** Texts have an item of their own, so that none takes the place of another. */
export function said(text: string, source: Draft['source'], memory: FormatMemory): Draft {
  const number = (amountOf(memory.get('texts read')) ?? 0) + 1;
  memory.set('texts read', number);
  return textDraft(text, { itemId: `read:${number}`, ...(source && { source }) });
}

/** The call of a tool, or its result. */
function toolDraft(block: JsonObject, memory: FormatMemory): Draft | undefined {
  const object = toolOf(block);
  const isCall = CALL_TYPE.test(textOf(object['type']) ?? '');
  const id = nameOf(firstOf(object, CALL_IDS)) ?? (isCall ? nameOf(object['id']) : undefined);
  if (id === undefined) return undefined;
  const name = nameOf(firstOf(object, TOOL_NAMES)) ?? nameOf(memory.recall('tools', id));
  const output = firstOf(object, OUTPUTS) ?? (isCall ? undefined : object['content']);
  const error = errorText(object['error']);
  if (output === undefined && error === undefined) {
    const input = firstOf(object, INPUTS);
    if (input === undefined || name === undefined || memory.recall('tools', id) !== undefined) return undefined;
    memory.remember('tools', id, name);
    return toolCall(id, name, input);
  }
  const hasFailed =
    error !== undefined || object['success'] === false || object['isError'] === true || object['is_error'] === true;
  return {
    source: 'tool',
    itemId: id,
    ...(name !== undefined && { toolName: name }),
    toolResult: {
      status: hasFailed ? 'error' : 'completed',
      output: contentText(objectOf(output)['content'] ?? objectOf(output)['output'] ?? output),
      ...(hasFailed && { error: error ?? 'the call failed' }),
    },
  };
}

/** Agents of the Gemini API wrap the call and its result. */
function toolOf(block: JsonObject): JsonObject {
  const call = objectOf(block['functionCall']);
  const response = objectOf(block['functionResponse']);
  if (nameOf(call['name']) !== undefined) return { type: 'function_call', ...call };
  return nameOf(response['name']) === undefined ? block : { callId: response['id'], ...response };
}
