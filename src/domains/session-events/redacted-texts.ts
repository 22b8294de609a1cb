import { REDACTED } from '../../core/redaction/redact.ts';
import { isObject } from '../../core/is-object.ts';
import { isExactNumber } from '../../core/text/exact-json.ts';
import { type TextChange, inSlices, replaceTexts } from '../../core/text/json-texts.ts';
import type { WorkSlices } from '../../core/work-budget.ts';
import {
  DELIVERIES,
  DELTA_TYPES,
  MAX_EVENT_NAME,
  RESPONSE_PHASES,
  SCOPE_KINDS,
  TOOL_RESULT_STATUSES,
} from './event-data.ts';
import { EVENT_DATA_TEXTS, PROVIDER_EVENT_TEXTS, SCOPE_TEXTS, TOOL_RESULT_TEXTS } from './texts.ts';

/** What the texts of events become when they are redacted, and how many are changed. */

export interface Redaction {
  /** Changes the texts of a JSON value, the data of an event with the id, and the value itself. */
  readonly redact: (value: unknown, slices: WorkSlices, id?: number) => Promise<unknown>;
  /** Changes the type or the provider of an event. */
  readonly rename: (name: string) => string;
  /** A part of every JSON document that can have a text to change, unless it has `\\u`. Empty if every document can. */
  readonly clue: string;
  /** How many texts were changed. */
  count: number;
}

/** Replaces each occurrence of a text. */
export interface TextRedaction extends Redaction {
  readonly replace: (text: string) => string;
  /** The text, as it is and escaped in JSON. */
  readonly forms: readonly string[];
}

const SOURCES = ['user', 'assistant', 'system', 'tool'];

/** Members of the event model with a value of a closed list. */
const ENUMERATED: Readonly<Record<string, readonly string[]>> = {
  delivery: DELIVERIES,
  deltaType: DELTA_TYPES,
  responsePhase: RESPONSE_PHASES,
  source: SOURCES,
  kind: SCOPE_KINDS,
  status: TOOL_RESULT_STATUSES,
};

/** The names of the event model, without which it could not be read. */
const DOCUMENTED: ReadonlySet<string> = new Set(
  [EVENT_DATA_TEXTS, SCOPE_TEXTS, PROVIDER_EVENT_TEXTS, TOOL_RESULT_TEXTS].flatMap((texts) => Object.keys(texts)),
);

/** JSON can be in a text of JSON, and so on: in each, quotes, backslashes and control characters are escaped once more. */
const MAX_ESCAPES = 3;

/** In texts, and in the names of members that the event model does not name. */
export function occurrencesOf(text: string): TextRedaction {
  const forms = [text];
  for (let level = 0; level < MAX_ESCAPES; level += 1) forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
  // The longest first: it has the shorter ones in it.
  const searched = [...new Set(forms)].toReversed();
  const replace = (before: string): string => {
    const after = searched.reduce((changed, form) => changed.replaceAll(form, REDACTED), before);
    if (after !== before) redaction.count += 1;
    return after;
  };
  const how: TextChange = {
    isSearched: () => true,
    isAlsoChanged: true,
    change: (before, name) => {
      const isOfModel = name === undefined ? DOCUMENTED.has(before) : ENUMERATED[name]?.includes(before) === true;
      return isOfModel ? before : replace(before);
    },
  };
  const redaction: TextRedaction = {
    clue: longestPlainPart(text),
    count: 0,
    forms: searched,
    replace,
    rename: (name) => cutTo(MAX_EVENT_NAME, replace(name)),
    redact: (value, slices) => inSlices(replaceTexts(value, how), slices),
  };
  return redaction;
}

type Kept = true | readonly string[] | { readonly [name: string]: Kept };

/** What stays of the texts of an event: types, providers, ids, names of tools, and values of closed lists. */
const KEPT: Kept = {
  type: true,
  itemId: true,
  toolName: true,
  snapshotId: true,
  delivery: DELIVERIES,
  deltaType: DELTA_TYPES,
  responsePhase: RESPONSE_PHASES,
  source: SOURCES,
  provider: true,
  messageId: true,
  scope: { kind: SCOPE_KINDS, id: true, parentToolUseId: true, taskId: true },
  event: { provider: true, messageId: true },
  toolResult: { status: TOOL_RESULT_STATUSES },
};

/** Replaces every other text of an event. */
export function allTexts(): Redaction {
  const redactIn = (value: unknown, kept: Kept | undefined): unknown => {
    if (typeof value === 'string') {
      if (kept === true || value === '' || value === REDACTED) return value;
      if (Array.isArray(kept) && kept.includes(value)) return value;
      redaction.count += 1;
      return REDACTED;
    }
    if (Array.isArray(value)) return value.map((item) => redactIn(item, undefined));
    if (!isObject(value) || isExactNumber(value)) return value;
    const names = kept !== undefined && kept !== true && !isList(kept) ? kept : {};
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        redactIn(member, Object.hasOwn(names, name) ? names[name] : undefined),
      ]),
    );
  };
  const redaction = { clue: '', count: 0, rename: sameName, redact: async (value: unknown) => redactIn(value, KEPT) };
  return redaction;
}

/** `[redacted]` can be longer than what it replaces. */
export const cutTo = (max: number, text: string) =>
  text.length <= max ? text : Array.from(text).slice(0, max).join('');

/** For redactions of the data alone. */
export const sameName = (name: string) => name;

const isList = (kept: Kept): kept is readonly string[] => Array.isArray(kept);

/** JSON writes quotes, backslashes, control characters, and in some documents slashes, in another way. */
function longestPlainPart(text: string): string {
  const parts = text.split(/["\\/\p{Cc}\u2028\u2029]/u);
  return parts.toSorted((one, other) => other.length - one.length)[0] ?? '';
}
