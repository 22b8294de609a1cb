import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  amountOf,
  modelOf,
  contentText,
  errorText,
  integerOf,
  partDraft,
  textDraft,
  nameOf,
  objectOf,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';

/** Events of a streamed response of OpenAI's Responses API, one a line, as JSON or as lines of an event stream (`data: {…}`). */

function placeOf(line: JsonObject): Draft {
  const sequenceNumber = integerOf(line['sequence_number']);
  const index = integerOf(line['output_index']);
  return { ...(sequenceNumber !== undefined && { sequenceNumber }), ...(index !== undefined && { index }) };
}

const frame: Convert = (line) => [{ source: 'assistant', ...placeOf(line) }];

/** The text item of a line: an item can have several parts. */
function textItem(line: JsonObject): string {
  const part = integerOf(line['content_index']) ?? integerOf(line['summary_index']) ?? 0;
  return `${textOf(line['item_id']) ?? ''}:${part}`;
}

const textDelta =
  (draft: Draft = {}): Convert =>
  (line) => [partDraft(textOf(line['delta']) ?? '', { ...placeOf(line), itemId: textItem(line), ...draft })];

const textDone =
  (field: string, draft: Draft = {}): Convert =>
  (line) => [textDraft(textOf(line[field]) ?? '', { ...placeOf(line), itemId: textItem(line), ...draft })];

const thinking: Draft = { responsePhase: 'commentary' };

/** The call of an item: events name the item, results the call. */
function callOf(line: JsonObject, memory: FormatMemory): { itemId: string; toolName?: string } {
  const id = textOf(line['item_id']) ?? '';
  const { call, name } = objectOf(memory.recall('calls', id));
  const toolName = nameOf(name);
  return { itemId: nameOf(call) ?? id, ...(toolName !== undefined && { toolName }) };
}

const inputDelta: Convert = (line, memory) => [
  partDraft(textOf(line['delta']) ?? '', {
    ...placeOf(line),
    ...callOf(line, memory),
    deltaType: 'input_json_delta',
  }),
];

const inputDone =
  (field: string): Convert =>
  (line, memory) => {
    const { itemId, toolName = 'tool' } = callOf(line, memory);
    return [toolCall(itemId, toolName, textOf(line[field]) ?? '', placeOf(line))];
  };

/** Items that call a tool: `function_call`, `web_search_call`, `mcp_call` and others. */
const CALL = /^(?<kind>\w+)_call$/;

const itemAdded: Convert = (line, memory) => {
  const item = objectOf(line['item']);
  const call = toolOf(item);
  if (!call) return frame(line, memory);
  const { itemId, toolName } = call;
  memory.remember('calls', textOf(item['id']) ?? itemId, { call: itemId, name: toolName });
  return [{ ...placeOf(line), source: 'assistant', itemId, toolName, toolResult: { status: 'running' } }];
};

function toolOf(item: JsonObject): { itemId: string; toolName: string } | undefined {
  const kind = CALL.exec(textOf(item['type']) ?? '')?.groups?.['kind'];
  if (kind === undefined) return undefined;
  const server = nameOf(item['server_label']);
  const name = nameOf(item['name']) ?? kind;
  return {
    itemId: nameOf(item['call_id']) ?? nameOf(item['id']) ?? '',
    toolName: server === undefined ? name : `${server}__${name}`,
  };
}

/** Names of an item's fields with the input of a tool, and with its output. */
const INPUTS = ['arguments', 'input', 'action', 'code', 'queries', 'operation', 'prompt'];
const OUTPUTS = ['output', 'results', 'outputs', 'result'];

const itemDone: Convert = (line, memory) => {
  const item = objectOf(line['item']);
  const call = toolOf(item);
  if (!call) return itemResult(item, placeOf(line), memory) ?? frame(line, memory);
  const input = INPUTS.map((name) => item[name]).find((value) => value !== undefined && value !== null);
  const begun = toolCall(call.itemId, call.toolName, input ?? {}, placeOf(line));
  memory.remember('calls', textOf(item['id']) ?? call.itemId, { call: call.itemId, name: call.toolName });
  // The client runs functions, so that their results come later or not at all.
  const output = OUTPUTS.map((name) => item[name]).find((value) => value !== undefined && value !== null);
  const error = errorText(item['error']);
  if (item['type'] === 'function_call' || item['type'] === 'custom_tool_call') return [begun];
  const hasFailed = item['status'] === 'failed' || error !== undefined;
  const shown = isBytes(item) ? '[image]' : contentText(output);
  return [begun, toolEnd({ ...call, output: shown, error: hasFailed && (error ?? CALL_FAILED) }, placeOf(line))];
};

const isBytes = ({ type }: JsonObject) => type === 'image_generation_call';

/** The output of a function, where a client writes it into the stream. */
function itemResult(item: JsonObject, place: Draft, memory: FormatMemory): readonly Draft[] | undefined {
  if (!textOf(item['type'])?.endsWith('_call_output')) return undefined;
  const itemId = textOf(item['call_id']) ?? '';
  const known = memory.all('calls').find((each) => objectOf(each)['call'] === itemId);
  const toolName = nameOf(objectOf(known)['name']);
  const error = item['status'] === 'failed' && CALL_FAILED;
  return [toolEnd({ itemId, toolName, output: contentText(item['output']), error }, place)];
}

const ended: Convert = (line, memory) => {
  const response = objectOf(line['response']);
  const usage = objectOf(response['usage']);
  const error = errorText(response['error']) ?? errorText(objectOf(response['incomplete_details'])['reason']);
  memory.clear();
  return [
    {
      ...placeOf(line),
      ...(error !== undefined && { name: 'error', accumulatedText: error }),
      usage: {
        inputTokens: amountOf(usage['input_tokens']),
        outputTokens: amountOf(usage['output_tokens']),
        cachedInputTokens: amountOf(objectOf(usage['input_tokens_details'])['cached_tokens']),
        cacheWriteTokens: amountOf(objectOf(usage['input_tokens_details'])['cache_write_tokens']),
        turns: 1,
        model: modelOf(response['model']),
      },
    },
  ];
};

const message: Convert = (line) => [
  textDraft(contentText(line['content']), { source: line['role'] === 'user' ? 'user' : 'assistant' }),
];

export const openaiResponses: Format = {
  provider: 'openai_responses',
  jsonOf: (line) => line.replace(/^data:\s*/, ''),
  types: {
    'response.created': frame,
    'response.in_progress': frame,
    'response.queued': frame,
    'response.output_item.added': itemAdded,
    'response.output_item.done': itemDone,
    'response.content_part.added': frame,
    'response.content_part.done': frame,
    'response.reasoning_summary_part.added': frame,
    'response.reasoning_summary_part.done': frame,
    'response.output_text.delta': textDelta(),
    'response.output_text.done': textDone('text'),
    'response.refusal.delta': textDelta(),
    'response.refusal.done': textDone('refusal'),
    'response.reasoning_text.delta': textDelta(thinking),
    'response.reasoning_text.done': textDone('text', thinking),
    'response.reasoning_summary_text.delta': textDelta(thinking),
    'response.reasoning_summary_text.done': textDone('text', thinking),
    'response.function_call_arguments.delta': inputDelta,
    'response.function_call_arguments.done': inputDone('arguments'),
    'response.custom_tool_call_input.delta': inputDelta,
    'response.custom_tool_call_input.done': inputDone('input'),
    'response.mcp_call_arguments.delta': inputDelta,
    'response.mcp_call_arguments.done': inputDone('arguments'),
    'response.code_interpreter_call_code.delta': inputDelta,
    'response.code_interpreter_call_code.done': inputDone('code'),
    'response.completed': ended,
    'response.incomplete': ended,
    'response.failed': ended,
    message,
    error: (line) => [{ accumulatedText: errorText(line['message']) ?? errorText(line['error']) ?? '' }],
  },
};
