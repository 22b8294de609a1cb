import { isObject } from '../../../core/is-object.ts';
import {
  CALL_FAILED,
  type Draft,
  type Format,
  type JsonObject,
  type UsageDraft,
  amountOf,
  contentText,
  errorText,
  modelOf,
  nameOf,
  textOf,
  toolCall,
  toolEnd,
} from './format.ts';
import type { FormatMemory } from './format-memory.ts';
import { type TableEntry, valuesAt } from './member-table.ts';
import { SPEAKING_ROLES, type SpeakingRole, type TableRole } from './names.ts';
import { blockDrafts, neutral, said, speakerOf } from './neutral.ts';

/** JSON lines of an agent that is not known, whose members the caller describes by a table. Lines that it does not describe are read by their common members. */

const AMOUNTS = [
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'costUsd',
  'durationMs',
] as const satisfies readonly (keyof UsageDraft)[];

/** Where a request keeps its table in the memory of the format. */
export const TABLE = 'table';

const tableIn = (memory: FormatMemory): readonly TableEntry[] => {
  const table = memory.get(TABLE);
  // Written by the gateway itself.
  return Array.isArray(table) ? (table as readonly TableEntry[]) : [];
};

const isSpeaking = (role: string): role is SpeakingRole => SPEAKING_ROLES.some((each) => each === role);

/** What the table finds in a line. */
class Described {
  readonly #line: JsonObject;
  readonly #table: readonly TableEntry[];

  constructor(line: JsonObject, table: readonly TableEntry[]) {
    this.#line = line;
    this.#table = table;
  }

  /** The values of members that have a role, in the order of the table. */
  valuesOf(role: TableRole): readonly unknown[] {
    return this.#table.flatMap((entry) =>
      entry.role === role && entry.value === undefined ? valuesAt(this.#line, entry.path) : [],
    );
  }

  first(role: TableRole): unknown {
    return this.valuesOf(role)[0];
  }

  /** Texts with those who say them, in the order of the table. */
  spoken(): readonly (readonly [SpeakingRole, unknown])[] {
    const speaker = this.speaker();
    return this.#table.flatMap(({ role, path, value }): readonly (readonly [SpeakingRole, unknown])[] => {
      const by = role === 'text' ? speaker : isSpeaking(role) ? role : undefined;
      if (by === undefined || value !== undefined) return [];
      return valuesAt(this.#line, path).map((each) => [by, each] as const);
    });
  }

  /** Who speaks in the line: as the value of a member says, else as the word of a role. */
  speaker(): SpeakingRole {
    const known = this.#table.find(
      ({ path, value }) =>
        value !== undefined && valuesAt(this.#line, path).some((each) => !isObject(each) && String(each) === value),
    );
    if (known && isSpeaking(known.role)) return known.role;
    return speakerOf(textOf(this.first('role')) ?? '');
  }
}

function textDrafts(role: SpeakingRole, content: unknown, memory: FormatMemory): readonly Draft[] {
  if (role === 'error') return [{ name: 'error', source: 'system', accumulatedText: errorText(content) ?? '' }];
  const source = role === 'thinking' ? 'assistant' : role;
  const drafts = Array.isArray(content)
    ? blockDrafts(content, memory, source)
    : [said(contentText(content), source, memory)].filter(({ accumulatedText }) => accumulatedText !== '');
  return role === 'thinking' ? drafts.map((draft) => ({ ...draft, responsePhase: 'commentary' })) : drafts;
}

/** The call of a tool, its result, or both. A line without an id belongs to the call before it. */
function toolDrafts(found: Described, memory: FormatMemory): readonly Draft[] {
  const [name, input, output] = [nameOf(found.first('toolName')), found.first('toolInput'), found.first('toolOutput')];
  const error = errorText(found.first('toolError'));
  const hasEnded = output !== undefined || error !== undefined;
  if (name === undefined && !hasEnded) return [];
  const id = callId(found.first('toolCallId'), memory, !hasEnded || input !== undefined);
  const begins = name !== undefined && (!hasEnded || input !== undefined);
  const toolName = name ?? nameOf(memory.recall('tools', id));
  if (toolName !== undefined) memory.remember('tools', id, toolName);
  return [
    ...(begins ? [toolCall(id, name, input ?? {})] : []),
    ...(hasEnded
      ? [
          toolEnd({
            itemId: id,
            toolName,
            output: contentText(output),
            error: error !== undefined && (error || CALL_FAILED),
          }),
        ]
      : []),
  ];
}

function callId(given: unknown, memory: FormatMemory, isNew: boolean): string {
  if (typeof given === 'string' || typeof given === 'number') return String(given);
  const number = (amountOf(memory.get('calls read')) ?? 0) + (isNew ? 1 : 0);
  memory.set('calls read', number);
  return `call:${number}`;
}

function usageDraft(found: Described): UsageDraft | undefined {
  const usage = Object.fromEntries(AMOUNTS.map((name) => [name, amountOf(found.first(name))]));
  const model = modelOf(found.first('model'));
  return Object.values(usage).some((amount) => amount !== undefined) ? { ...usage, model } : undefined;
}

function describedDrafts(line: JsonObject, memory: FormatMemory): readonly Draft[] {
  const table = tableIn(memory);
  if (table.length === 0) return [];
  const found = new Described(line, table);
  const tools = toolDrafts(found, memory);
  const texts = found.spoken().flatMap(([role, content]) => textDrafts(role, content, memory));
  const usage = usageDraft(found);
  const time = found.first('time');
  const drafts = [...texts, ...tools];
  const [first, ...others] = drafts.length === 0 && usage ? [{}] : drafts;
  if (!first) return [];
  const all: readonly Draft[] = [usage ? { ...first, usage } : first, ...others];
  return time === undefined ? all : all.map((draft) => ({ ...draft, time }));
}

export const jsonl: Format = {
  provider: 'agent',
  otherLines: 'system',
  types: {},
  others: (line, memory) => {
    const described = describedDrafts(line, memory);
    return described.length > 0 ? described : neutral(line, memory);
  },
};

/** Lines that are texts, whatever they look like. */
export const plainText: Format = { provider: 'agent', otherLines: 'assistant', jsonOf: () => '', types: {} };
