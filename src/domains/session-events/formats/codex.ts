import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  amountOf,
  contentText,
  entryOf,
  errorText,
  integerOf,
  listOf,
  partDraft,
  textDraft,
  nameOf,
  objectOf,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { increaseOf } from './token-count.ts';

/** `codex exec --json`. The shapes are those of `codex-rs/exec/src/exec_events.rs` in openai/codex, and of the versions before. */

type Stage = 'started' | 'updated' | 'completed';

interface Item {
  readonly item: JsonObject;
  readonly itemId: string;
  readonly stage: Stage;
  readonly memory: FormatMemory;
}

const FAILED: ReadonlySet<unknown> = new Set(['failed', 'declined', 'errored']);

interface Tool {
  readonly name: (item: JsonObject) => string;
  readonly input: (item: JsonObject) => unknown;
  readonly output: (item: JsonObject) => string;
}

const toolItem =
  ({ name, input, output }: Tool) =>
  ({ item, itemId, stage, memory }: Item): Draft[] => {
    const toolName = name(item);
    const isOpen = memory.recall('open', itemId) !== undefined;
    const begun = isOpen ? [] : [toolCall(itemId, toolName, input(item))];
    const text = output(item);
    if (stage !== 'completed') {
      const running: Draft = {
        source: 'tool',
        itemId,
        toolName,
        delivery: 'realtime',
        toolResult: { status: 'running', output: text },
      };
      memory.remember('open', itemId, true);
      return isOpen && text !== '' ? [...begun, running] : begun;
    }
    memory.forget('open', itemId);
    const exitCode = integerOf(item['exit_code']);
    const error = errorText(item['error']);
    const hasFailed = FAILED.has(item['status']) || error !== undefined || (exitCode !== undefined && exitCode !== 0);
    const reason = hasFailed && (error ?? failure(item, exitCode));
    return [...begun, toolEnd({ itemId, toolName, output: text, exitCode, error: reason })];
  };

function failure({ status }: JsonObject, exitCode: number | undefined): string {
  if (status === 'declined') return 'the command was declined';
  return exitCode === undefined ? CALL_FAILED : `the command ended with code ${exitCode}`;
}

const said =
  (draft: Draft = {}) =>
  ({ item, itemId, stage }: Item): Draft[] => [
    textDraft(textOf(item['text']) ?? '', {
      itemId,
      ...(stage !== 'completed' && { delivery: 'realtime' }),
      ...draft,
    }),
  ];

const todoList = ({ item, itemId }: Item): Draft[] => {
  const lines = listOf(item['items']).map((each) => {
    const { text, completed } = objectOf(each);
    return `- [${completed === true ? 'x' : ' '}] ${textOf(text) ?? ''}`;
  });
  return [textDraft(lines.join('\n'), { itemId, responsePhase: 'commentary' })];
};

const ITEMS: Readonly<Record<string, (item: Item) => Draft[]>> = {
  agent_message: said(),
  assistant_message: said(),
  reasoning: said({ responsePhase: 'commentary' }),
  plan: said({ responsePhase: 'commentary' }),
  todo_list: todoList,
  command_execution: toolItem({
    name: () => 'shell',
    input: ({ command }) => ({ command }),
    output: ({ aggregated_output: output }) => textOf(output) ?? '',
  }),
  file_change: toolItem({
    name: () => 'apply_patch',
    input: ({ changes }) => ({ changes }),
    output: ({ changes }) =>
      listOf(changes)
        .map(objectOf)
        .map(({ kind, path }) => `${textOf(kind) ?? textOf(objectOf(kind)['type']) ?? 'change'} ${textOf(path) ?? ''}`)
        .join('\n'),
  }),
  mcp_tool_call: toolItem({
    name: ({ server, tool }) => [server, tool].filter((part) => nameOf(part) !== undefined).join('__') || 'mcp',
    input: ({ arguments: input }) => input ?? {},
    output: ({ result }) => contentText(objectOf(result)['content']),
  }),
  collab_tool_call: toolItem({
    name: ({ tool }) => textOf(tool) ?? 'agent',
    input: ({ prompt, receiver_thread_ids: receivers }) => ({ prompt, receivers }),
    output: ({ agents_states: states }) =>
      listOf(Object.values(objectOf(states)))
        .map((state) => textOf(objectOf(state)['message']) ?? textOf(objectOf(state)['status']) ?? '')
        .join('\n'),
  }),
  web_search: toolItem({
    name: () => 'web_search',
    input: ({ query, action }) => ({ query, action }),
    output: () => '',
  }),
  error: ({ item, itemId }) => [{ name: 'error', itemId, accumulatedText: errorText(item['message']) ?? '' }],
};

const ofItem =
  (stage: Stage): Convert =>
  (line, memory) => {
    const item = inSnakeCase(objectOf(line['item']));
    // Before 0.44 the type of an item was in `item_type`.
    const type = snake(textOf(item['type']) ?? textOf(item['item_type']) ?? '');
    const convert = entryOf(ITEMS, type);
    const id = nameOf(item['id']);
    return convert && id !== undefined ? convert({ item, itemId: itemIdOf(id, memory), stage, memory }) : [];
  };

/** The app server writes items with names such as `fileChange` and `exitCode`. */
const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const inSnakeCase = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [snake(name), value]));

/** Ids of items are unique within a run only. */
function itemIdOf(id: string, memory: FormatMemory): string {
  const run = amountOf(memory.get('run')) ?? 0;
  return run > 1 ? `${run}:${id}` : id;
}

const threadStarted: Convert = ({ thread_id: id }, memory) => {
  const run = (amountOf(memory.get('run')) ?? 0) + 1;
  const thread = (textOf(id) ?? '').slice(0, MAX_THREAD);
  // The totals of a thread go on when it is resumed.
  const totals = memory.get('thread') === thread ? memory.get('totals') : undefined;
  const resumed = memory.get('resumed');
  memory.clear();
  memory.set('resumed', resumed);
  memory.set('run', run);
  memory.set('thread', thread);
  memory.set('totals', totals);
  return [];
};

/** So much of the id of a thread is compared. */
const MAX_THREAD = 200;

/** The usage in a line is the total of the thread so far. The first one of a resumed thread has its past, and is not counted. */
const turnCompleted: Convert = (line, memory) => {
  const usage = objectOf(line['usage']);
  const totals = {
    inputTokens: amountOf(usage['input_tokens']),
    outputTokens: amountOf(usage['output_tokens']),
    cachedInputTokens: amountOf(usage['cached_input_tokens']),
    cacheWriteTokens: amountOf(usage['cache_write_input_tokens']),
  };
  const known = memory.get('totals');
  memory.set('totals', totals);
  const isBaseline = known === undefined && memory.get('resumed') === true;
  return [{ usage: { ...(!isBaseline && increaseOf(objectOf(known), totals)), turns: 1 } }];
};

const failed = (error: unknown, draft: Draft = {}): Draft[] => [
  { name: 'error', accumulatedText: errorText(error) ?? '', ...draft },
];

const planDelta: Convert = ({ item_id: id, delta }, memory) => {
  const itemId = nameOf(id);
  if (itemId === undefined) return [];
  return [partDraft(textOf(delta) ?? '', { itemId: itemIdOf(itemId, memory), responsePhase: 'commentary' })];
};

export const codex: Format = {
  provider: 'openai',
  types: {
    'thread.started': threadStarted,
    'turn.completed': turnCompleted,
    'turn.failed': ({ error }) => failed(error, { usage: { turns: 1 } }),
    'item.started': ofItem('started'),
    'item.updated': ofItem('updated'),
    'item.completed': ofItem('completed'),
    'item.plan.delta': planDelta,
    request_user_input: ({ questions }) => [
      textDraft(
        listOf(questions)
          .map((each) => textOf(objectOf(each)['question']) ?? '')
          .join('\n'),
      ),
    ],
    error: (line) => failed(line['message'] ?? line['error']),
  },
};
