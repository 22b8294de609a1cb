/** What the fields of the data of events, and of outlines, mean. */

export const EVENT_DATA_TEXTS = {
  type: 'Type of the data.',
  scope: 'Who acts, and in which task.',
  source: 'Where the event comes from.',
  providerEvent: 'Whether the model provider sent the event.',
  delivery: 'How the event was delivered.',
  event: 'The original event of the model provider.',
  index: 'Position of the content block in the message.',
  itemId: 'Id of the item that the event belongs to.',
  sequenceNumber: 'Number of the event in the message.',
  accumulatedText: 'All text of the content block so far.',
  delta: 'The text that a delta event adds.',
  deltaType: 'What a delta event adds to.',
  responsePhase: 'The part of the response that the event belongs to.',
  toolName: 'Name of the called tool.',
  toolResult: 'The result of the tool call.',
  usage:
    'The amounts that the event adds to the totals, with the name of their `model`, or the part of each in `costUsd` by name in `costByModel`.',
  snapshotId: 'Id of the snapshot that was taken.',
  snapshotCreatedAt: 'When the snapshot was taken, as the runner wrote it.',
} as const;

export const SCOPE_TEXTS = {
  kind: 'Who acts.',
  parentToolUseId: 'Id of the tool call that started the agent or task.',
  taskId: 'Id of the task.',
} as const;

export const PROVIDER_EVENT_TEXTS = {
  event: 'Name of the event.',
  message: 'Text of the event.',
  provider: 'Name of the provider.',
  messageId: 'Id of the message that the event belongs to.',
} as const;

export const TOOL_RESULT_TEXTS = {
  status: 'The state of the tool call.',
  output: 'Output of the tool.',
  exitCode: 'Exit code of the command.',
  error: 'Why the tool call failed.',
} as const;

export const OUTLINE_TEXTS = {
  marks:
    'Up to 100 sums of consecutive events, which together have all events of the part; in `wholeOutline` up to 500.',
  entries: 'Turns and subagents, in the order of the events; at most 200, in `wholeOutline` 600.',
  tools:
    'The tools whose calls have ended, the first 100 by name. The calls of further ones are together in one with an empty name.',
  models: 'The models that the events name, at most 100.',
  lastId: 'The last event of the part, which is the `after` of the next one. Null when the session has no events.',
  hasMore: 'Whether events may follow.',
} as const;

export const OUTLINE_MARK_TEXTS = {
  firstId: 'Id of the first of the events, as `SessionEvent.databaseId`.',
  createdAt: 'When the first of them happened.',
  messages: 'Messages of the user and of agents, without thinking.',
  toolCalls: 'Tool calls that ended.',
  failures: 'Events that report an error, as `SessionEventFilter.isError` finds them.',
  failureId: 'Id of the first of these. Null when there is none.',
  inputTokens: 'Tokens that were sent to models.',
  outputTokens: 'Tokens that models wrote.',
  costUsd: 'Cost in US dollars.',
} as const;

export const OUTLINE_ENTRY_TEXTS = {
  eventId: 'Id of the event, as `SessionEvent.databaseId`.',
  createdAt: 'When the event happened.',
  kind: 'What begins here.',
  text: 'The beginning of the message, or what the subagent is for, in one line of at most 120 characters. Empty when the events do not say it.',
  lastId: 'The last event in the part that belongs to the turn or subagent.',
  endedAt: 'When that event happened.',
  toolCalls: 'Tool calls that ended in the turn, up to the next listed one, or in the subagent.',
  failures:
    'Events that report an error, in the turn, up to the next listed one, or in the subagent, with the call that started it.',
  failureId: 'Id of the first of these. Null when there is none.',
  subagentId:
    'Id of the subagent: that of the call that started it, or of its task. Parts that have the same subagent have the same id. Null for a turn.',
  parentId:
    'The `subagentId` of the subagent that started it. Null when the agent itself did, or when the call is in another part.',
} as const;

export const OUTLINE_TOOL_TEXTS = {
  name: 'Name of the tool. Empty when the events do not name it.',
  calls: 'Calls that ended.',
  failures: 'Calls that failed.',
  durationMs: 'How long the calls took that began and ended in the part, in milliseconds.',
  firstId: 'Id of the event where the first of the calls began.',
  failureId: 'Id of the event where the first of them failed. Null when none did.',
} as const;

export const SEARCHED_TEXT = 'Words in any order, and `"quoted phrases"`; case and accents are ignored.';
