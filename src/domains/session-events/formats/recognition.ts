import type { FormatName } from './names.ts';

/**
 * By what the lines of an agent are recognized: a line has a type, and all of the members. One of them alone is not enough, because agents
 * name members alike. The recorder has the table too.
 */
const SIGNS: readonly (readonly [FormatName, RegExp, readonly string[]])[] = [
  ['claude-transcript', /^./, ['parentUuid', 'uuid', 'isSidechain']],
  ['claude-transcript', /^queue-operation$/, ['operation']],
  ['claude-transcript', /^(?:ai-title|custom-title|last-prompt|cost-state)$/, ['sessionId']],
  ['claude-transcript', /^file-history-snapshot$/, ['messageId', 'snapshot']],
  ['claude-transcript', /^summary$/, ['leafUuid', 'summary']],
  ['qwen-chat', /^./, ['uuid', 'parentUuid', 'sessionId']],
  ['codex-rollout', /^(?:session_meta|response_item|event_msg|turn_context|compacted)$/, ['payload']],
  ['gemini-chat', /^/, ['sessionId', 'projectHash']],
  ['gemini-chat', /^gemini$/, ['id', 'content']],
  ['opencode', /^./, ['sessionID', 'timestamp']],
  ['opencode-storage', /^/, ['id', 'messageID', 'sessionID']],
  ['opencode-storage', /^/, ['id', 'sessionID', 'role']],
  ['opencode-storage', /^/, ['id', 'projectID', 'time']],
  ['codex', /^thread\.started$/, ['thread_id']],
  ['codex', /^item\./, ['item']],
  ['codex', /^turn\.(?:started|completed|failed)$/, []],
  ['openai-responses', /^response\./, ['sequence_number']],
  ['openai-responses', /^response\./, ['response']],
  ['gemini', /^init$/, ['session_id', 'model']],
  ['pi', /^session$/, ['version', 'id', 'cwd']],
  ['pi', /^message_(?:start|update|end)$/, ['message']],
  ['pi', /^tool_execution_\w+$/, ['toolCallId']],
  ['pi', /^agent_start$/, []],
  ['copilot', /^(?:session|assistant|user|tool)\.\w/, ['data']],
  ['cline', /^hook_event$/, ['hookEventName']],
  ['cline', /^agent_event$/, ['event']],
  ['cline', /^run_result$/, []],
  ['cline', /^$/, ['session_id', 'started_at']],
  ['cline', /^$/, ['role', 'content', 'ts']],
  ['claude', /^system$/, ['subtype', 'session_id']],
  ['claude', /^assistant$/, ['message']],
  ['claude', /^stream_event$/, ['event']],
  ['claude', /^result$/, ['subtype']],
];

/** The format that a line has; undefined if it can be of any agent. */
export function formatOfLine(line: Readonly<Record<string, unknown>>): FormatName | undefined {
  const type = typeof line['type'] === 'string' ? line['type'] : '';
  return SIGNS.find(
    ([, types, members]) => types.test(type) && members.every((name) => Object.hasOwn(line, name)),
  )?.[0];
}
