import { REDACTED } from '../../core/redaction/redact.ts';
import type { TextChange } from '../../core/text/json-texts.ts';
import { DELIVERIES, DELTA_TYPES, RESPONSE_PHASES, SCOPE_KINDS, TOOL_RESULT_STATUSES } from './event-data.ts';

/** What the texts of events become when they are redacted, and how many are changed. */

export interface Redaction extends TextChange {
  /** A part of every JSON document that can have a text to change, unless it has `\\u`. Empty if every document can. */
  readonly clue: string;
  /** How many texts were changed. */
  count: number;
}

/** Replaces each occurrence of a text, also in names of members. */
export function occurrencesOf(text: string): Redaction {
  const redaction: Redaction = {
    clue: longestPlainPart(text),
    count: 0,
    isSearched: () => true,
    change: (before) => {
      if (!before.includes(text)) return before;
      redaction.count += 1;
      return before.replaceAll(text, REDACTED);
    },
  };
  return redaction;
}

/** Replaces every text but types, providers, ids, names of tools and values of closed lists. */
export function allTexts(): Redaction {
  const redaction: Redaction = {
    clue: '',
    count: 0,
    isSearched: () => false,
    change: (before, name) => {
      if (name === undefined || before === '' || before === REDACTED || isKept(name, before)) return before;
      redaction.count += 1;
      return REDACTED;
    },
  };
  return redaction;
}

/** Members of event data that have a value of a closed list. */
const ENUMERATED: Readonly<Record<string, readonly string[]>> = {
  kind: SCOPE_KINDS,
  delivery: DELIVERIES,
  deltaType: DELTA_TYPES,
  responsePhase: RESPONSE_PHASES,
  status: TOOL_RESULT_STATUSES,
  source: ['user', 'assistant', 'system', 'tool'],
};
const NAMED = new Set(['type', 'provider', 'toolName']);
const IS_ID = /^(?:id|.*(?:Id|_id))$/;
/** Identifiers and names have no spaces. */
const IS_WORD = /^[\w.:/-]{1,200}$/;

function isKept(name: string, text: string): boolean {
  return ENUMERATED[name]?.includes(text) === true || ((NAMED.has(name) || IS_ID.test(name)) && IS_WORD.test(text));
}

/** JSON writes quotes, backslashes, control characters, and in some documents slashes, in another way. */
function longestPlainPart(text: string): string {
  const parts = text.split(/["\\/\p{Cc}\u2028\u2029]/u);
  return parts.toSorted((one, other) => other.length - one.length)[0] ?? '';
}
