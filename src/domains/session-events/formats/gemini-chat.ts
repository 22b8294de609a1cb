import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  amountOf,
  contentText,
  errorText,
  listOf,
  modelOf,
  nameOf,
  noteOf,
  objectOf,
  textDraft,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { addedByMessage } from './token-count.ts';

/**
 * The files that Gemini CLI keeps of its chats: `tmp/<project>/chats/session-*.jsonl`, or `.json` with a list of the same messages, which the
 * recorder sends one a line. The shapes are those of `packages/core/src/services/chatRecordingService.ts` in google-gemini/gemini-cli; the
 * numbers in comments are those of `transcripts.md`.
 */

const INJECTED = /^\s*<(?:session_context|environment_context|hook_context)>/;

const user: Convert = (line) => {
  const id = textOf(line['id']) ?? '';
  const parts = typeof line['content'] === 'string' ? [{ text: line['content'] }] : listOf(line['content']);
  const drafts = parts.flatMap((part, index): readonly Draft[] => {
    // The results of calls follow in the message that has the calls (22).
    if (objectOf(part)['functionResponse'] !== undefined) return [];
    const said = textDraft(contentText([part]), { source: 'user', itemId: `${id}:${index}` });
    return [INJECTED.test(said.accumulatedText ?? '') ? noteOf(said) : said];
  });
  return drafts.length > 0 ? drafts : [{}];
};

/** A message is written again with the calls that it has made, and once more with their results (21). */
const gemini: Convert = (line, memory) => {
  const id = textOf(line['id']) ?? '';
  const isKnown = memory.recall('messages', id) !== undefined;
  memory.remember('messages', id, true);
  const usage = addedByMessage(memory, id, tokensOf(objectOf(line['tokens'])));
  const drafts = [
    ...(isKnown ? [] : textsOf(line, id)),
    ...listOf(line['toolCalls']).flatMap((each) => callOf(objectOf(each), memory)),
  ];
  if (!Object.values(usage).some(Boolean)) return drafts.length > 0 ? drafts : [{ name: 'repeated' }];
  const [first = { source: 'assistant' as const }, ...others] = drafts;
  return [{ ...first, usage: { ...usage, model: modelOf(line['model']) } }, ...others];
};

function textsOf(line: JsonObject, id: string): readonly Draft[] {
  const text = contentText(line['content']);
  const thoughts = listOf(line['thoughts']).map((each, index) => {
    const { subject, description } = objectOf(each);
    const said = [subject, description].filter((part) => nameOf(part) !== undefined).join(': ');
    return textDraft(said, { itemId: `${id}:thought-${index}`, responsePhase: 'commentary' });
  });
  return [...thoughts, ...(text === '' ? [] : [textDraft(text, { itemId: id })])];
}

/** Thoughts are output, too. */
const tokensOf = ({ input, output, thoughts, cached }: JsonObject) => ({
  inputTokens: amountOf(input),
  outputTokens: amountOf(output) === undefined ? undefined : (amountOf(output) ?? 0) + (amountOf(thoughts) ?? 0),
  cachedInputTokens: amountOf(cached),
});

/** After its output the tool says how the command has ended. */
const MAX_TAIL = 200;

const ENDED: ReadonlySet<unknown> = new Set(['success', 'error', 'cancelled']);

function callOf(each: JsonObject, memory: FormatMemory): readonly Draft[] {
  const id = nameOf(each['id']) ?? '';
  const name = nameOf(each['name']) ?? 'tool';
  const state = textOf(memory.recall('tools', id));
  const hasEnded = ENDED.has(each['status']);
  if (state === 'ended') return [];
  memory.remember('tools', id, hasEnded ? 'ended' : 'begun');
  const begun = state === undefined ? [toolCall(id, name, each['args'] ?? {})] : [];
  if (!hasEnded) return begun;
  const responses = listOf(each['result']).map((part) =>
    objectOf(objectOf(objectOf(part)['functionResponse'])['response']),
  );
  const output = responses.map((response) => contentText(response['output'] ?? response['error'])).join('\n');
  const error = responses.map((response) => errorText(response['error'])).find((text) => text !== undefined);
  // A command that fails is a success of its call.
  const [, code] = (name === 'run_shell_command' && /^Exit Code: (-?\d{1,10})$/m.exec(output.slice(-MAX_TAIL))) || [];
  const exitCode = code === undefined ? undefined : Number(code);
  const hasFailed = each['status'] !== 'success' || error !== undefined || (exitCode ?? 0) !== 0;
  const reason = error ?? (exitCode ? `the command ended with code ${exitCode}` : CALL_FAILED);
  return [...begun, toolEnd({ itemId: id, toolName: name, output, exitCode, error: hasFailed && reason })];
}

const noted: Convert = (line) => [
  { name: textOf(line['type']) ?? 'info', accumulatedText: contentText(line['content']) },
];

export const geminiChat: Format = {
  provider: 'google',
  types: { user, gemini, info: noted, error: noted, warning: noted },
  // The head of the file, and changes of its state (23).
  others: () => [{}],
};
