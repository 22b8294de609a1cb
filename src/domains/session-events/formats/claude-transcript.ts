import { createHash } from 'node:crypto';
import { addedCosts, claude, costsOf, modelTotals } from './claude.ts';
import {
  type Convert,
  type Draft,
  type Format,
  type JsonObject,
  type TokenUsage,
  amountOf,
  contentText,
  listOf,
  modelOf,
  nameOf,
  noteOf,
  objectOf,
  textDraft,
  textOf,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { countTokens, remainingTokens } from './token-count.ts';

/**
 * The files that Claude Code keeps of its sessions: `projects/<folder>/<session>.jsonl`, and those of its subagents. Their messages are those
 * of `claude`; what differs is in `transcripts.md`, whose numbers are in the comments.
 */

const digestOf = (text: string) => createHash('sha256').update(text.slice(0, 2000)).digest('base64url').slice(0, 22);

const blocksOf = ({ message }: JsonObject) => {
  const { content } = objectOf(message);
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(objectOf);
};

/** The call that started the agent of a line: known by the agent, by the line before it, or by the prompt (3). */
function callOf(line: JsonObject, memory: FormatMemory): string | undefined {
  const agent = `agent ${nameOf(line['agentId']) ?? ''}`;
  const prompt = contentText(objectOf(line['message'])['content']);
  const found = nameOf(
    (line['agentId'] === undefined ? undefined : memory.recall('calls', agent)) ??
      memory.recall('open', textOf(line['parentUuid']) ?? '') ??
      memory.recall('calls', `prompt ${digestOf(prompt)}`),
  );
  if (found === undefined) return undefined;
  if (line['agentId'] !== undefined) memory.remember('calls', agent, found);
  else memory.remember('open', textOf(line['uuid']) ?? '', found);
  return found;
}

/** The line as the stream of the agent would have it. */
function asStreamed(line: JsonObject, memory: FormatMemory): JsonObject {
  const call = line['isSidechain'] === true ? callOf(line, memory) : undefined;
  return call === undefined ? line : { ...line, parent_tool_use_id: call };
}

/** Whether an earlier line was the same: a session that is resumed or compacted can repeat lines (6). */
function isRepeated({ uuid }: JsonObject, memory: FormatMemory): boolean {
  const name = `line ${textOf(uuid) ?? ''}`;
  if (uuid === undefined || memory.recall('said', name) !== undefined) return uuid !== undefined;
  memory.remember('said', name, true);
  return false;
}

const once =
  (convert: Convert): Convert =>
  (line, memory) =>
    isRepeated(line, memory) ? [{ name: 'repeated' }] : convert(line, memory);

const assistant: Convert = (line, memory) => {
  for (const { type, id, input } of blocksOf(line)) {
    const prompt = textOf(objectOf(input)['prompt']);
    if (type === 'tool_use' && prompt !== undefined && nameOf(id) !== undefined)
      memory.remember('calls', `prompt ${digestOf(prompt)}`, id);
  }
  const drafts = claude.types['assistant']?.(asStreamed(line, memory), memory) ?? [];
  // An error of the API is written as a message of the agent (7).
  return line['isApiErrorMessage'] === true
    ? drafts.map(({ accumulatedText = '' }) => ({ name: 'error', accumulatedText }))
    : drafts;
};

/** Texts that the program puts into the place of the person (4). */
const INJECTED =
  /^\s*(?:<(?:system-reminder|command-(?:name|message|args)|local-command-[a-z]+|task-notification|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|user-memory-input|ide_[a-z_]+)>|Caveat: The messages below were generated|\[Request interrupted by user|This session is being continued from a previous conversation)/;

const isInjectedLine = (line: JsonObject) =>
  ['isMeta', 'isCompactSummary', 'isVisibleInTranscriptOnly'].some((name) => line[name] === true) ||
  line['promptSource'] === 'system' ||
  objectOf(line['origin'])['kind'] === 'task-notification';

const user: Convert = (line, memory) => {
  const agent = nameOf(objectOf(line['toolUseResult'])['agentId']);
  const call = blocksOf(line)
    .map((block) => nameOf(block['tool_use_id']))
    .find((id) => id !== undefined);
  if (agent !== undefined && call !== undefined) memory.remember('calls', `agent ${agent}`, call);
  const isInjected = isInjectedLine(line);
  const drafts = claude.types['user']?.(asStreamed(line, memory), memory) ?? [];
  return drafts.map((draft) =>
    draft.source === 'user' && (isInjected || INJECTED.test(draft.accumulatedText ?? '')) ? noteOf(draft) : draft,
  );
};

const system: Convert = (line) => {
  const name = nameOf(line['subtype']) ?? 'system';
  const text = textOf(line['content']) ?? '';
  // The time of a turn is reported at its end (8).
  if (name === 'turn_duration') return [{ name, usage: { turns: 1, durationMs: amountOf(line['durationMs']) } }];
  return [{ name, ...(text !== '' && { accumulatedText: text }) }];
};

/** What a person wrote while the agent worked; other attachments are of the program (5). */
const attachment: Convert = (line) => {
  const { type, prompt, commandMode } = objectOf(line['attachment']);
  const text = contentText(prompt);
  const draft: Draft = { name: nameOf(type) ?? 'attachment' };
  if (type !== 'queued_command' || text === '') return [draft];
  const said = textDraft(text, { ...draft, source: 'user', itemId: `${textOf(line['uuid']) ?? ''}:0` });
  return [commandMode === 'task-notification' || INJECTED.test(text) ? noteOf(said) : said];
};

/**
 * The totals of the session so far, with what no message has, such as the call that compacts (9). A total that is smaller than one before adds
 * nothing.
 */
const costState: Convert = (line, memory) => {
  const models = objectOf(line['modelUsage']);
  const costs = ownCosts(costsOf(models), models, memory);
  const known = objectOf(memory.get('state'));
  const past = sumOf(costsOf(models)) - sumOf(costs);
  const costUsd = amountOf(line['totalCostUSD']) === undefined ? undefined : Number(line['totalCostUSD']) - past;
  const most = Math.max(amountOf(known['costUsd']) ?? 0, costUsd ?? 0);
  memory.set('state', { costUsd: most, costs: { ...objectOf(known['costs']), ...costs } });
  const totals = modelTotals(Object.values(models).map(objectOf));
  const rest = remainingTokens(memory, totals, 'counted of state');
  countTokens(memory, totals, 'counted of state');
  return [
    {
      name: 'cost-state',
      usage: {
        ...rest,
        costUsd: costUsd === undefined ? undefined : most - (amountOf(known['costUsd']) ?? 0),
        model: Object.keys(costs)[0] ?? modelOf(memory.get('model')),
        ...(Object.keys(costs).length > 0 && { costByModel: addedCosts(objectOf(known['costs']), costs) }),
      },
    },
  ];
};

const sumOf = (costs: Readonly<Record<string, number>>) => Object.values(costs).reduce((sum, cost) => sum + cost, 0);

/** The costs without the share of messages that count in another session: the totals of a fork have its past. */
function ownCosts(costs: Readonly<Record<string, number>>, models: JsonObject, memory: FormatMemory) {
  const tokensIn = (usage: TokenUsage) =>
    (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) + (usage.cachedInputTokens ?? 0);
  const all = new Map<string, number>();
  for (const [name, usage] of Object.entries(models))
    all.set(modelOf(name) ?? '', (all.get(modelOf(name) ?? '') ?? 0) + tokensIn(modelTotals([objectOf(usage)])));
  return Object.fromEntries(
    Object.entries(costs).map(([model, cost]) => {
      const elsewhere = tokensIn(objectOf(memory.get(`elsewhere ${model}`)));
      return [model, cost * (1 - Math.min(1, elsewhere / Math.max(1, all.get(model) ?? 0)))];
    }),
  );
}

/** The title of the session: a summary, one of the agent, or one of the person. */
const titled =
  (member: string): Convert =>
  (line) => [{ name: 'title', accumulatedText: textOf(line[member]) ?? '' }];

export const claudeTranscript: Format = {
  provider: 'anthropic',
  types: {
    assistant: once(assistant),
    user: once(user),
    system: once(system),
    attachment: once(attachment),
    summary: titled('summary'),
    'cost-state': costState,
    'ai-title': titled('aiTitle'),
    'custom-title': titled('customTitle'),
  },
  // Lines of the program's own state (9).
  others: () => [{}],
};
