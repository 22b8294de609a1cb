import {
  CALL_FAILED,
  type Convert,
  type Draft,
  type Format,
  amountOf,
  contentText,
  errorText,
  integerOf,
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

/**
 * The files that Qwen Code keeps of its chats: `projects/<folder>/chats/<session>.jsonl`. The parts of messages are those of the Gemini API; the
 * numbers in comments are those of `transcripts.md`.
 */

const INJECTED = /^\s*<(?:session_context|environment_context|system-reminder)>/;

const partsOf = (line: Readonly<Record<string, unknown>>) => listOf(objectOf(line['message'])['parts']).map(objectOf);

const user: Convert = (line) => {
  const drafts = partsOf(line).map((part, index): Draft => {
    const said = textDraft(contentText([part]), { source: 'user', itemId: `${textOf(line['uuid']) ?? ''}:${index}` });
    return line['provenance'] === 'system' || INJECTED.test(said.accumulatedText ?? '') ? noteOf(said) : said;
  });
  return drafts.length > 0 ? drafts : [{}];
};

const assistant: Convert = (line, memory) => {
  const drafts = partsOf(line).map((part, index): Draft => {
    const { id, name, args } = objectOf(part['functionCall']);
    const itemId = `${textOf(line['uuid']) ?? ''}:${index}`;
    if (part['functionCall'] === undefined)
      return textDraft(contentText([part]), {
        itemId,
        ...(part['thought'] === true && { responsePhase: 'commentary' as const }),
      });
    memory.remember('tools', nameOf(id) ?? itemId, nameOf(name) ?? 'tool');
    return toolCall(nameOf(id) ?? itemId, nameOf(name) ?? 'tool', args ?? {});
  });
  const [first = { source: 'assistant' as const }, ...others] = drafts;
  const tokens = objectOf(line['usageMetadata']);
  const [input, output, total] = ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount'].map((name) =>
    amountOf(tokens[name]),
  );
  const usage = {
    inputTokens: input,
    // What is in the total and neither sent nor said are thoughts (33).
    outputTokens: output === undefined ? undefined : Math.max(output, (total ?? 0) - (input ?? 0)),
    cachedInputTokens: amountOf(tokens['cachedContentTokenCount']),
    turns: 1,
    model: modelOf(line['model']),
  };
  return [{ ...first, usage }, ...others];
};

const toolResult: Convert = (line, memory) => {
  const { status, resultDisplay } = objectOf(line['toolCallResult']);
  const drafts = partsOf(line).flatMap((part): readonly Draft[] => {
    const { id, name, response } = objectOf(part['functionResponse']);
    if (part['functionResponse'] === undefined) return [];
    const itemId = nameOf(id) ?? '';
    const { output, error } = objectOf(response);
    const exitCode = integerOf(objectOf(resultDisplay)['exitCode']);
    const hasFailed = status === 'error' || error !== undefined || (exitCode !== undefined && exitCode !== 0);
    const reason = exitCode ? `the command ended with code ${exitCode}` : (errorText(error) ?? CALL_FAILED);
    const toolName = nameOf(memory.recall('tools', itemId)) ?? nameOf(name);
    return [
      toolEnd({
        itemId,
        toolName,
        output: contentText(output ?? error),
        exitCode,
        error: hasFailed && reason.slice(0, 500),
      }),
    ];
  });
  return drafts.length > 0 ? drafts : [{ source: 'tool' }];
};

export const qwenChat: Format = {
  provider: 'qwen',
  // Snapshots and measurements of the program (34).
  types: {
    user,
    assistant,
    tool_result: toolResult,
    system: (line) => [{ name: textOf(line['subtype']) ?? 'system' }],
  },
  others: () => [{}],
};
