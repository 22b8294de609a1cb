import {
  type Conversion,
  type Draft,
  type Format,
  type JsonObject,
  type Memory,
  accumulate,
  addedTo,
  amountOf,
  contentText,
  errorText,
  forget,
  integerOf,
  listOf,
  mediaText,
  textDraft,
  nameOf,
  objectOf,
  remember,
  textOf,
  toolCall,
} from './format.ts';

/**
 * Claude Code with `--output-format stream-json`, and messages of the Claude Agent SDK. The shapes are those of
 * `claude_agent_sdk/types.py` in anthropics/claude-agent-sdk-python, and of the Messages API for content blocks.
 */

type Scope = NonNullable<Draft['scope']>;

function scopeOf({ parent_tool_use_id: parent }: JsonObject): Scope {
  const parentToolUseId = nameOf(parent);
  return parentToolUseId === undefined ? { kind: 'foreground' } : { kind: 'subagent', parentToolUseId };
}

/** The message that is being written, for each agent: its id, and how many of its blocks were complete. */
function openMessage(memory: Memory, { parentToolUseId = '' }: Scope): { id: string; blocks: number } {
  const open = objectOf(objectOf(memory['messages'])[parentToolUseId]);
  return { id: textOf(open['id']) ?? '', blocks: amountOf(open['blocks']) ?? 0 };
}

function withMessage(memory: Memory, { parentToolUseId = '' }: Scope, open: { id: string; blocks: number }): Memory {
  return remember(memory, 'messages', parentToolUseId, open);
}

interface Block {
  readonly block: JsonObject;
  readonly itemId: string;
  readonly scope: Scope;
  readonly memory: Memory;
}

const call = ({ block, itemId, scope, memory }: Block): Conversion => {
  const id = nameOf(block['id']) ?? itemId;
  const name = nameOf(block['name']) ?? 'tool';
  return {
    drafts: [toolCall(id, name, block['input'], { scope })],
    memory: remember(forget(memory, 'texts', id), 'tools', id, name),
  };
};

const result = ({ block, scope, memory }: Block): Conversion => {
  const id = nameOf(block['tool_use_id']);
  const output = contentText(block['content']);
  const isError = block['is_error'] === true;
  const exitCode = isError ? exitCodeIn(output) : undefined;
  const toolName = id === undefined ? undefined : nameOf(objectOf(memory['tools'])[id]);
  return {
    drafts: [
      {
        source: 'tool',
        scope,
        ...(id !== undefined && { itemId: id }),
        ...(toolName !== undefined && { toolName }),
        toolResult: {
          status: isError ? 'error' : 'completed',
          output,
          ...(exitCode !== undefined && { exitCode }),
          ...(isError && { error: firstLine(output) }),
        },
      },
    ],
    memory: id === undefined ? memory : forget(memory, 'tools', id),
  };
};

/** A command that failed says so in the first line of its output. */
function exitCodeIn(output: string): number | undefined {
  const [, code] = /^Exit code (\d{1,3})$/m.exec(output.slice(0, 20)) ?? [];
  return code === undefined ? undefined : Number(code);
}

const MAX_ERROR = 500;
const firstLine = (text: string) => (text.trim().split('\n')[0] ?? '').slice(0, MAX_ERROR);

const assistantText = ({ block, itemId, scope, memory }: Block): Conversion => {
  const text = textOf(block['text']) ?? '';
  return {
    drafts: [textDraft(text, { itemId, scope })],
    memory: {
      ...forget(memory, 'texts', itemId),
      ...(scope.kind === 'foreground' && { last: text.slice(0, MAX_LAST) }),
    },
  };
};

/** So much of the last message is compared with the final result, which repeats it. */
const MAX_LAST = 2000;

const thinking = ({ block, itemId, scope, memory }: Block): Conversion => ({
  drafts: [textDraft(textOf(block['thinking']) ?? '', { itemId, scope, responsePhase: 'commentary' })],
  memory: forget(memory, 'texts', itemId),
});

const BLOCKS: Readonly<Record<string, (block: Block) => Conversion>> = {
  text: assistantText,
  thinking,
  redacted_thinking: ({ scope, itemId, memory }) => ({
    drafts: [textDraft('[redacted thinking]', { itemId, scope, responsePhase: 'commentary' })],
    memory,
  }),
  tool_use: call,
  server_tool_use: call,
  mcp_tool_use: call,
  tool_result: result,
  mcp_tool_result: result,
  web_search_tool_result: result,
  web_fetch_tool_result: result,
  code_execution_tool_result: result,
  bash_code_execution_tool_result: result,
  text_editor_code_execution_tool_result: result,
  advisor_tool_result: result,
};

function assistant(line: JsonObject, memory: Memory): Conversion {
  const scope = scopeOf(line);
  const { id: given, content } = objectOf(line['message']);
  const id = nameOf(given) ?? nameOf(line['uuid']) ?? '';
  const open = openMessage(memory, scope);
  // Each line has the next block of the message.
  const first = open.id === id ? open.blocks : 0;
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content);
  let now = memory;
  const drafts = blocks.flatMap((each, index) => {
    const block = objectOf(each);
    const convert = BLOCKS[textOf(block['type']) ?? ''];
    if (!convert) return [];
    const converted = convert({ block, itemId: `${id}:${first + index}`, scope, memory: now });
    now = converted.memory ?? now;
    return converted.drafts;
  });
  const error = errorText(line['error']);
  if (error !== undefined) drafts.push({ name: 'error', scope, accumulatedText: error });
  return { drafts, memory: withMessage(now, scope, { id, blocks: first + blocks.length }) };
}

function user(line: JsonObject, memory: Memory): Conversion {
  const scope = scopeOf(line);
  const { content } = objectOf(line['message']);
  const itemId = nameOf(line['uuid']);
  const said = (text: string, index: number): Draft =>
    textDraft(text, { source: 'user', scope, ...(itemId !== undefined && { itemId: `${itemId}:${index}` }) });
  if (typeof content === 'string') return { drafts: [said(content, 0)] };
  let now = memory;
  const drafts = listOf(content).flatMap((each, index) => {
    const block = objectOf(each);
    const text = block['type'] === 'text' ? textOf(block['text']) : mediaText(block);
    if (text !== undefined) return [said(text, index)];
    if (!textOf(block['type'])?.endsWith('tool_result')) return [];
    const converted = result({ block, itemId: '', scope, memory: now });
    now = converted.memory ?? now;
    return converted.drafts;
  });
  return { drafts, memory: now };
}

/** Parts of a message, with `--include-partial-messages`. The complete blocks follow in lines of their own. */
function streamEvent(line: JsonObject, memory: Memory): Conversion {
  const scope = scopeOf(line);
  const event = objectOf(line['event']);
  const name = nameOf(event['type']) ?? 'stream_event';
  const frame: Draft = { name, source: 'assistant', scope, delivery: 'realtime' };
  if (name === 'message_start') {
    const id = textOf(objectOf(event['message'])['id']) ?? '';
    return { drafts: [frame], memory: withMessage(memory, scope, { id, blocks: 0 }) };
  }
  const { id } = openMessage(memory, scope);
  const index = integerOf(event['index']);
  const place = `${id}:${index ?? 0}`;
  const draft = { ...frame, ...(index !== undefined && { index }) };
  if (name === 'content_block_start') return blockStart(objectOf(event['content_block']), place, draft, memory);
  if (name === 'content_block_delta') return blockDelta(objectOf(event['delta']), place, draft, memory);
  return { drafts: [draft] };
}

function blockStart(block: JsonObject, place: string, draft: Draft, memory: Memory): Conversion {
  const id = nameOf(block['id']);
  const toolName = nameOf(block['name']);
  if (id === undefined || toolName === undefined) return { drafts: [draft] };
  return {
    drafts: [{ ...draft, itemId: id, toolName, toolResult: { status: 'running' } }],
    memory: remember(remember(memory, 'tools', id, toolName), 'calls', place, id),
  };
}

/** The field of a delta with its text, and what it adds to. */
const DELTAS: Readonly<Record<string, readonly [field: string, draft: Draft]>> = {
  text_delta: ['text', { deltaType: 'text_delta' }],
  thinking_delta: ['thinking', { deltaType: 'text_delta', responsePhase: 'commentary' }],
  input_json_delta: ['partial_json', { deltaType: 'input_json_delta' }],
};

function blockDelta(delta: JsonObject, place: string, draft: Draft, memory: Memory): Conversion {
  const [field, fields] = DELTAS[textOf(delta['type']) ?? ''] ?? [];
  const part = field === undefined ? undefined : textOf(delta[field]);
  if (part === undefined) return { drafts: [draft] };
  const itemId = nameOf(objectOf(memory['calls'])[place]) ?? place;
  const toolName = nameOf(objectOf(memory['tools'])[itemId]);
  const { text, memory: next } = accumulate(memory, itemId, part);
  return {
    drafts: [
      {
        ...draft,
        ...fields,
        itemId,
        ...(fields?.deltaType === 'input_json_delta' && toolName !== undefined && { toolName }),
        ...(text !== undefined && { accumulatedText: text }),
      },
    ],
    memory: next,
  };
}

/** Messages of the agent's program: of a task, a summary of the conversation, a hook. */
function system(line: JsonObject): Conversion {
  const taskId = nameOf(line['task_id']);
  const parentToolUseId = nameOf(line['tool_use_id']);
  const text = [line['summary'], line['description'], line['message'], line['content'], line['error']].find(
    (each) => nameOf(each) !== undefined,
  );
  return {
    drafts: [
      {
        name: nameOf(line['subtype']) ?? 'system',
        ...(taskId !== undefined && {
          scope: { kind: 'background', taskId, ...(parentToolUseId !== undefined && { parentToolUseId }) },
        }),
        ...(typeof text === 'string' && { accumulatedText: text }),
      },
    ],
  };
}

/** The end of a turn. The cost is that of the whole run so far, the tokens are those of the turn. */
function turnResult(line: JsonObject, memory: Memory): Conversion {
  const usage = objectOf(line['usage']);
  const run = textOf(line['session_id']) ?? '';
  const cost = amountOf(line['total_cost_usd']);
  const known = objectOf(memory['cost']);
  const text =
    textOf(line['result']) ??
    (listOf(line['errors'])
      .filter((each) => typeof each === 'string')
      .join('\n') ||
      undefined);
  const isRepeated = text?.slice(0, MAX_LAST) === memory['last'];
  const isError = line['is_error'] === true;
  return {
    drafts: [
      {
        source: isError ? 'system' : 'assistant',
        name: isError ? 'error' : 'result',
        ...(text !== undefined && !isRepeated && { accumulatedText: text }),
        ...(text !== undefined &&
          !isRepeated &&
          !isError && { deltaType: 'text_delta' as const, responsePhase: 'final_answer' as const }),
        ...(typeof line['uuid'] === 'string' && { itemId: line['uuid'] }),
        usage: {
          inputTokens: amountOf(usage['input_tokens']),
          outputTokens: amountOf(usage['output_tokens']),
          cachedInputTokens: amountOf(usage['cache_read_input_tokens']),
          costUsd: addedTo(known['run'] === run ? known['usd'] : 0, cost),
          turns: amountOf(line['num_turns']),
          durationMs: amountOf(line['duration_ms']),
        },
      },
    ],
    memory: cost === undefined ? memory : { ...memory, cost: { run, usd: cost } },
  };
}

export const claude: Format = {
  provider: 'anthropic',
  types: { assistant, user, stream_event: streamEvent, system, result: turnResult },
};
