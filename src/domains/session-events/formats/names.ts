/** The names of the formats, and of what members of lines mean. The recorder has them too, so that this file imports nothing. */

export const FORMAT_NAMES = [
  'claude',
  'codex',
  'gemini',
  'opencode',
  'openai-responses',
  'copilot',
  'cline',
  'pi',
  'claude-transcript',
  'codex-rollout',
  'gemini-chat',
  'opencode-storage',
  'qwen-chat',
  'text',
  'jsonl',
  'auto',
] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** Who says the text of a member, or speaks in a line. */
export const SPEAKING_ROLES = ['user', 'assistant', 'system', 'tool', 'thinking', 'error'] as const;
export type SpeakingRole = (typeof SPEAKING_ROLES)[number];

/** What a member has. */
export const TABLE_ROLES = [
  ...SPEAKING_ROLES,
  'text',
  'role',
  'time',
  'toolName',
  'toolCallId',
  'toolInput',
  'toolOutput',
  'toolError',
  'model',
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'costUsd',
  'durationMs',
] as const;
export type TableRole = (typeof TABLE_ROLES)[number];
