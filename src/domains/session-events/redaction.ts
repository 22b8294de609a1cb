import { lintSource } from '@secretlint/core';
import { rules as recommendedRules } from '@secretlint/secretlint-rule-preset-recommend';
import { isObject } from '../../core/is-object.ts';
import { isExactNumber, parseExactJson } from '../../core/text/exact-json.ts';
import { WorkSlices } from '../../core/work-budget.ts';

/**
 * Replaces credentials in the texts of events before they are stored. The rules are those of secretlint, and some more for shapes that it
 * leaves out because it looks for complete credentials only.
 */

const REDACTED = '[redacted]';

/** Further shapes. The group `secret` is replaced; without one, the whole match. */
const SHAPES: readonly RegExp[] = [
  // Keys, invitations and webhook secrets of this gateway.
  /\bwgk_[0-9A-Za-z]{20,}/g,
  /\bwgi_[0-9A-Za-z_-]{20,}/g,
  /\bwhsec_[0-9A-Za-z+/=_-]{20,}/g,
  /\bauthorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|basic|token)\s+(?<secret>[^\s"'\\,;]{8,})/gi,
  /\b(?:x-api-key|api-key|x-goog-api-key)["'\\]*\s*[:=]\s*["'\\]*(?<secret>[0-9A-Za-z_.+/=-]{16,})/gi,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{35}/g,
  /\bsk-(?:ant|proj|svcacct|admin|or)-[0-9A-Za-z_-]{20,}/g,
  /\bgh[pousr]_[0-9A-Za-z]{36,}/g,
  /\bxox[abeprs]-[0-9A-Za-z-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END )[^\0])*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
];

/** A comment in a text must not turn the rules off. */
const FILTER_COMMENTS = '@secretlint/secretlint-rule-filter-comments';
const CONFIG = {
  rules: recommendedRules.filter(({ meta }) => meta.id !== FILTER_COMMENTS).map((rule) => ({ id: rule.meta.id, rule })),
};

/**
 * Separates the texts that are searched together, because a search has a fixed cost. Texts of events contain no NUL. What a rule matches
 * across a separator ends there, so that the beginning of a key in one text does not hide another text.
 */
const SEPARATOR = '\n\0\n';

interface Range {
  readonly start: number;
  readonly end: number;
}

export interface Redacted {
  /** JSON texts in the same order. Texts without secrets are unchanged. */
  readonly documents: readonly string[];
  /** How many secrets were replaced. Several occurrences of a secret in a document, or in documents of one group, count once. */
  readonly secrets: number;
}

/**
 * Replaces secrets in all texts of JSON documents; property names stay. A text that is a JSON object itself, such as the line of an agent,
 * is searched by its own texts, so that it stays well-formed.
 */
export async function redactSecrets(
  documents: readonly string[],
  groupOf: (index: number) => number = (index) => index,
): Promise<Redacted> {
  const replacements = await findReplacements(documents);
  if (replacements.size === 0) return { documents, secrets: 0 };
  const found = new Set<string>();
  const redacted: string[] = [];
  const slices = new WorkSlices();
  for (const [index, document] of documents.entries()) {
    if (slices.isOver()) await slices.pause();
    let isChanged = false;
    const value = withTexts(parseExactJson(document), (text, label) => {
      const replacement = replacements.get(label + text);
      if (!replacement) return text;
      isChanged = true;
      for (const secret of replacement.secrets) found.add(`${groupOf(index)}:${secret}`);
      return replacement.text;
    });
    redacted.push(isChanged ? JSON.stringify(value) : document);
  }
  return { documents: redacted, secrets: found.size };
}

interface Replacement {
  readonly text: string;
  readonly secrets: readonly string[];
}

/** The replacement of each text with a secret. Equal texts are searched once. */
async function findReplacements(documents: readonly string[]): Promise<Map<string, Replacement>> {
  const searched = new Map<string, { readonly labelLength: number }>();
  const slices = new WorkSlices();
  for (const document of documents) {
    if (slices.isOver()) await slices.pause();
    visitTexts(parseExactJson(document), (text, label) => {
      if (text.length >= MIN_SECRET) searched.set(label + text, { labelLength: label.length });
    });
  }
  const ranges = await findSecrets([...searched.keys()].join(SEPARATOR));
  const replacements = new Map<string, Replacement>();
  let [start, next] = [0, 0];
  for (const [text, { labelLength }] of searched) {
    const end = start + text.length;
    while (next < ranges.length && (ranges[next]?.end ?? 0) <= start) next += 1;
    const own: Range[] = [];
    for (let index = next; index < ranges.length; index += 1) {
      const range = ranges[index];
      if (!range || range.start >= end) break;
      own.push({ start: Math.max(labelLength, range.start - start), end: Math.min(text.length, range.end - start) });
    }
    const secrets = own.filter((range) => range.start < range.end);
    if (secrets.length > 0) replacements.set(text, replace(text, secrets, labelLength));
    start = end + SEPARATOR.length;
  }
  return replacements;
}

/** No rule matches a shorter text. */
const MIN_SECRET = 8;

function replace(text: string, ranges: readonly Range[], labelLength: number): Replacement {
  let [result, at] = ['', labelLength];
  for (const { start, end } of ranges) {
    result += text.slice(at, start) + REDACTED;
    at = end;
  }
  return { text: result + text.slice(at), secrets: ranges.map(({ start, end }) => text.slice(start, end)) };
}

/** Places of secrets, in order and without overlaps. */
async function findSecrets(content: string): Promise<Range[]> {
  const ranges: Range[] = [];
  const slices = new WorkSlices();
  for (let at = 0; at < content.length; at += PART) {
    if (slices.isOver()) await slices.pause();
    for (const range of await findKnown(content.slice(at, at + PART + OVERLAP), at)) ranges.push(range);
  }
  for (const shape of SHAPES)
    for (const match of content.matchAll(shape)) {
      const secret = match.groups?.['secret'] ?? match[0];
      const start = match.index + match[0].length - secret.length;
      ranges.push({ start, end: start + secret.length });
    }
  return merged(ranges.map((range) => withinText(content, range)));
}

/** The library compares all that it finds in a text with each other, so long texts are searched in parts. */
const PART = 32 * 1024;
/** Longer than any secret that the rules know, so that each is whole in one part. */
const OVERLAP = 12 * 1024;

/** What the library finds in a part of the content that begins at `offset`. */
async function findKnown(content: string, offset: number): Promise<Range[]> {
  const { messages } = await lintSource({
    source: { filePath: 'event.txt', content, ext: '.txt', contentType: 'text' },
    options: { config: CONFIG },
  });
  return messages.map(({ range: [from, to], data }) => {
    const { start, end } = secretIn(content, from, data) ?? { start: from, end: to };
    return { start: start + offset, end: end + offset };
  });
}

function withinText(content: string, { start, end }: Range): Range {
  const separator = content.slice(start, end).indexOf(SEPARATOR);
  return { start, end: separator === -1 ? end : start + separator };
}

/** Where the secret of a message is. Some rules report where the name of the secret begins, with the length of the secret. */
function secretIn(content: string, from: number, data: unknown): Range | undefined {
  for (const value of Object.values(isObject(data) ? data : {})) {
    if (typeof value !== 'string' || value.length < MIN_SECRET) continue;
    const start = content.indexOf(value, from);
    if (start !== -1 && start - from <= MAX_NAME) return { start, end: start + value.length };
  }
  return undefined;
}

const MAX_NAME = 200;

function merged(ranges: readonly Range[]): Range[] {
  const result: { start: number; end: number }[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** Properties whose values are credentials by their name: they are searched together with it. */
const TELLING_NAME = /auth|key|token|secret|passw|credential/i;

const labelOf = (name: string) => (name.length < 100 && TELLING_NAME.test(name) ? `${name}: ` : '');

/** Returns the text to store. `label` is what precedes the text where it is searched. */
type Change = (text: string, label: string) => string;

/** Calls the function for each text in which secrets are searched, without a copy of the value, which can have hundreds of thousands of members. */
function visitTexts(value: unknown, visit: (text: string, label: string) => void, label = ''): void {
  if (typeof value === 'string') {
    const inner = isJsonObject(value) ? parsedIfJson(value) : undefined;
    if (inner === undefined) visit(value, isJsonObject(value) ? '' : label);
    else visitTexts(inner, visit);
  } else if (Array.isArray(value)) {
    for (const item of value) visitTexts(item, visit, label);
  } else if (typeof value === 'object' && value !== null && !isExactNumber(value)) {
    for (const [name, item] of Object.entries(value)) visitTexts(item, visit, labelOf(name));
  }
}

const MAX_INNER_LEVELS = 200;

/** The value of a JSON text; undefined if it is none, or so deep that it is searched as a text. */
function parsedIfJson(text: string): unknown {
  try {
    return parseExactJson(text, MAX_INNER_LEVELS);
  } catch {
    return undefined;
  }
}

/** A copy of a JSON value with other texts. */
function withTexts(value: unknown, change: Change, label = ''): unknown {
  if (typeof value === 'string') return isJsonObject(value) ? withInnerTexts(value, change) : change(value, label);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, change, label));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withTexts(item, change, labelOf(name))]),
  );
}

const isJsonObject = (text: string) => text.startsWith('{') && text.endsWith('}');

function withInnerTexts(text: string, change: Change): string {
  const inner = parsedIfJson(text);
  if (inner === undefined) return change(text, '');
  let isChanged = false;
  const value = withTexts(inner, (before, label) => {
    const after = change(before, label);
    isChanged ||= after !== before;
    return after;
  });
  return isChanged ? JSON.stringify(value) : text;
}
