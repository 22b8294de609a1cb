export const inputText = {
  name: 'Name of the tool.',
  arguments: 'The arguments of the tool, with numbers of any size. When absent, none.',
  sessionId:
    'Id of the session that the call belongs to. The call and its result are appended to its events, which needs the scope `sessions.record`.',
  timeoutSeconds: 'Maximum time of the call in seconds.',
};

/** What the fields of the result of a tool mean. */
export const TOOL_RESULT_TEXTS = {
  isError: 'Whether the tool failed; `content` says why.',
  content:
    'The content blocks as the server sent them, of known and unknown types. Null in a replayed answer that was larger than 256 KiB.',
  structuredContent: 'The structured result as the server sent it. Null when there is none.',
  durationMs: 'Duration of the call in milliseconds.',
};
