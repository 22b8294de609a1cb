/** What the fields of session events mean, for both APIs. */

export const SESSION_EVENT_TEXTS = {
  id: 'Id of the event. The events of a session are numbered from 1.',
  createdAt: 'When the event happened.',
  eventType: 'Type of the event.',
  messageId: 'Id of the message that the event belongs to. Null when there is none.',
  sessionId: 'Id of the session.',
  provider: 'Name of the model provider; empty when none was given.',
  eventData: 'The data of the event as it was recorded, with the documented fields and any others.',
} as const;

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
  deltaType: 'What a delta event adds to.',
  responsePhase: 'The part of the response that the event belongs to.',
  toolName: 'Name of the called tool.',
  toolResult: 'The result of the tool call.',
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

export const REDACTED_TEXTS = {
  redactedEvents: 'How many events were changed.',
  redactedTexts: 'How many texts were changed, in events, in the session and in its pull requests.',
} as const;

export const MATCH_TEXTS = {
  session: 'The session.',
  eventId: 'Id of the event, which REST uses and `SessionEvent.databaseId` has. Null when the title was found.',
  excerpt: 'The part of the text around the first word that was found.',
  text: 'Words in any order, and `"quoted phrases"`; case and accents are ignored.',
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
  createdAt: SESSION_EVENT_TEXTS.createdAt,
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

export const APPENDED_TEXTS = {
  sessionId: SESSION_EVENT_TEXTS.sessionId,
  firstId: 'Id of the first event of the batch.',
  lastId: 'Id of the last event of the batch, which is also the cursor after the batch.',
  isReplayed: 'Whether the batch was already stored by an earlier request.',
  events: 'How many events were appended.',
  repairedTexts:
    'In how many texts NUL characters and lone surrogates, which cannot be stored, were replaced by U+FFFD.',
  redactedSecrets:
    'How many credentials were replaced by `[redacted]` before the events were stored. A credential that an event, or the lines of one request, have several times counts once.',
} as const;
