import {
  type Conversion,
  type Draft,
  type Format,
  type JsonObject,
  type Memory,
  addedTo,
  amountOf,
  contentText,
  errorText,
  forget,
  integerOf,
  listOf,
  textDraft,
  nameOf,
  objectOf,
  remember,
  textOf,
  toolCall,
} from './format.ts';

/** `codex exec --json`. The shapes are those of `codex-rs/exec/src/exec_events.rs` in openai/codex, and of the versions before. */

type Stage = 'started' | 'updated' | 'completed';

interface Item {
  readonly item: JsonObject;
  readonly itemId: string;
  readonly stage: Stage;
  readonly memory: Memory;
}

const FAILED: ReadonlySet<unknown> = new Set(['failed', 'declined', 'errored']);

interface Tool {
  readonly name: (item: JsonObject) => string;
  readonly input: (item: JsonObject) => unknown;
  readonly output: (item: JsonObject) => string;
}

const toolItem =
  ({ name, input, output }: Tool) =>
  ({ item, itemId, stage, memory }: Item): Conversion => {
    const toolName = name(item);
    const isOpen = objectOf(memory['open'])[itemId] !== undefined;
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
      return {
        drafts: isOpen || text !== '' ? [...begun, running] : begun,
        memory: remember(memory, 'open', itemId, true),
      };
    }
    const exitCode = integerOf(item['exit_code']);
    const error = errorText(item['error']);
    const hasFailed = FAILED.has(item['status']) || error !== undefined || (exitCode !== undefined && exitCode !== 0);
    const ended: Draft = {
      source: 'tool',
      itemId,
      toolName,
      toolResult: {
        status: hasFailed ? 'error' : 'completed',
        output: text,
        ...(exitCode !== undefined && { exitCode }),
        ...(hasFailed && { error: error ?? failure(item, exitCode) }),
      },
    };
    return { drafts: [...begun, ended], memory: forget(memory, 'open', itemId) };
  };

function failure({ status }: JsonObject, exitCode: number | undefined): string {
  if (status === 'declined') return 'the command was declined';
  return exitCode === undefined ? 'the call failed' : `the command ended with code ${exitCode}`;
}

const said =
  (draft: Draft = {}) =>
  ({ item, itemId, stage }: Item): Conversion => ({
    drafts: [
      textDraft(textOf(item['text']) ?? '', {
        itemId,
        ...(stage !== 'completed' && { delivery: 'realtime' }),
        ...draft,
      }),
    ],
  });

const todoList = ({ item, itemId }: Item): Conversion => {
  const lines = listOf(item['items']).map((each) => {
    const { text, completed } = objectOf(each);
    return `- [${completed === true ? 'x' : ' '}] ${textOf(text) ?? ''}`;
  });
  return { drafts: [textDraft(lines.join('\n'), { itemId, responsePhase: 'commentary' })] };
};

const ITEMS: Readonly<Record<string, (item: Item) => Conversion>> = {
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
        .map((change) => `${textOf(objectOf(change)['kind']) ?? 'change'} ${textOf(objectOf(change)['path']) ?? ''}`)
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
      Object.values(objectOf(states))
        .map((state) => textOf(objectOf(state)['message']) ?? textOf(objectOf(state)['status']) ?? '')
        .join('\n'),
  }),
  web_search: toolItem({
    name: () => 'web_search',
    input: ({ query, action }) => ({ query, action }),
    output: () => '',
  }),
  error: ({ item, itemId }) => ({
    drafts: [{ name: 'error', itemId, accumulatedText: errorText(item['message']) ?? '' }],
  }),
};

const ofItem =
  (stage: Stage) =>
  (line: JsonObject, memory: Memory): Conversion => {
    const item = objectOf(line['item']);
    // Before 0.44 the type of an item was in `item_type`.
    const convert = ITEMS[textOf(item['type']) ?? textOf(item['item_type']) ?? ''];
    const id = nameOf(item['id']);
    if (!convert || id === undefined) return { drafts: [{}] };
    return convert({ item, itemId: itemIdOf(id, memory), stage, memory });
  };

/** Ids of items are unique within a run only. */
function itemIdOf(id: string, memory: Memory): string {
  const run = amountOf(memory['run']) ?? 0;
  return run > 1 ? `${run}:${id}` : id;
}

const threadStarted = (line: JsonObject, memory: Memory): Conversion => ({
  drafts: [{}],
  memory: {
    run: (amountOf(memory['run']) ?? 0) + 1,
    thread: textOf(line['thread_id']) ?? '',
    // The totals of a thread go on when it is resumed.
    totals: memory['thread'] === line['thread_id'] ? memory['totals'] : {},
  },
});

const COUNTERS = {
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cachedInputTokens: 'cached_input_tokens',
} as const;

/** The usage in a line is the total of the thread so far. */
function turnCompleted(line: JsonObject, memory: Memory): Conversion {
  const usage = objectOf(line['usage']);
  const totals = objectOf(memory['totals']);
  const added = Object.fromEntries(
    Object.entries(COUNTERS).map(([name, field]) => [name, addedTo(totals[field], amountOf(usage[field]))]),
  );
  return { drafts: [{ usage: { ...added, turns: 1 } }], memory: { ...memory, totals: usage } };
}

const failed = (error: unknown, draft: Draft = {}): Conversion => ({
  drafts: [{ name: 'error', accumulatedText: errorText(error) ?? '', ...draft }],
});

function planDelta({ item_id: id, delta }: JsonObject, memory: Memory): Conversion {
  const itemId = nameOf(id);
  if (itemId === undefined) return { drafts: [{}] };
  const known = itemIdOf(itemId, memory);
  const text = `${textOf(objectOf(memory['plans'])[known]) ?? ''}${textOf(delta) ?? ''}`;
  const draft = textDraft(text, { itemId: known, delivery: 'realtime', responsePhase: 'commentary' });
  return { drafts: [draft], memory: remember(memory, 'plans', known, text) };
}

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
    request_user_input: ({ questions }) => ({
      drafts: [
        textDraft(
          listOf(questions)
            .map((each) => textOf(objectOf(each)['question']) ?? '')
            .join('\n'),
        ),
      ],
    }),
    error: (line) => failed(line['message'] ?? line['error']),
  },
};
