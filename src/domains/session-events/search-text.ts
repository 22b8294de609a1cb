import { createHash } from 'node:crypto';
import { fold } from '../../core/text/derived-names.ts';
import type { EventData } from './event-data.ts';
import { deltaOf, kindOf, plainMessage } from './event-kind.ts';

/** What is searched of events, and how texts are compared: by their words, without case and accents. */

type Data = Pick<
  EventData,
  | 'type'
  | 'source'
  | 'event'
  | 'providerEvent'
  | 'responsePhase'
  | 'itemId'
  | 'accumulatedText'
  | 'deltaType'
  | 'toolName'
  | 'toolResult'
>;

export interface SearchedText {
  /** What the text belongs to: a later text of the same item replaces it. */
  readonly item: string;
  readonly text: string;
}

/** The text of an event: a message, the name of a tool with its input, or its output. @param open texts that have not ended, by item */
export function searchedText(
  id: number,
  data: Data,
  open?: Pick<ReadonlyMap<string, string>, 'get'>,
): SearchedText | undefined {
  const { toolName, toolResult, itemId } = data;
  const accumulatedText = data.accumulatedText ?? (deltaOf(data) === '' ? null : open?.get(itemId ?? ''));
  const eventKind = kindOf(data);
  const hasEnded = eventKind === 'result';
  // What a running tool has put out so far is replaced by its result, and does not replace its input.
  const isOutput = hasEnded || (!accumulatedText && !!toolResult?.output);
  const said = hasEnded
    ? [toolResult?.error, toolResult?.output]
    : [isOutput ? null : toolName, accumulatedText || toolResult?.output || plainMessage(data)];
  const text = said.filter(Boolean).join('\n');
  if (!text) return undefined;
  const kind = isOutput ? 'result' : eventKind === 'call' ? 'call' : 'text';
  return { item: itemId == null ? `#${id}` : digest(`${kind}:${itemId}`), text };
}

/** JSON, which can have been cut, after the name of a tool or not. */
const JSON_TEXT = /^(?:[^\n{["]*\n)?\s*(?:\{\s*"|\[\s*[{["])/;

/** A text with the characters that JSON escapes in its strings, so that their words are words: a `\n` before a word is none of its letters. */
export function unescaped(text: string, beginning = text): string {
  if (!JSON_TEXT.test(beginning.slice(0, 300))) return text;
  return text.replaceAll(/\\(?:u([\da-f]{4})|(.))/gis, (_, hex: string | undefined, escaped: string) =>
    hex === undefined ? (/[nrtbf]/.test(escaped) ? ' ' : escaped) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Short, because it is in the key of an index. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/** So many characters of a text are searched, which is less than a document of PostgreSQL can have. */
export const MAX_SEARCHED = 100_000;

/** Letters and digits, in lower case and without accents, separated by single spaces. */
export const wordsOf = (text: string): string =>
  fold(unescaped(text.slice(0, MAX_SEARCHED)).replaceAll('\0', ' ').toWellFormed())
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** The phrases of a search: each quoted text, and each word outside of quotes. All must be found, in any order. */
export function phrasesOf(search: string): string[] {
  const phrases = Array.from(search.matchAll(/"([^"]*)"?|[^\s"]+/g), ([all, quoted]) => wordsOf(quoted ?? all));
  return [...new Set(phrases.filter((phrase) => phrase !== ''))];
}

const EXCERPT = 200;
const BEFORE = 60;

/** The part of a text around the first phrase that is found in it. */
export function excerptOf(text: string, phrases: readonly string[]): string {
  const at = Math.max(0, firstPlace(text, phrases) - BEFORE);
  const start = at === 0 ? 0 : text.indexOf(' ', at) + 1 || at;
  const excerpt = text
    .slice(start, start + EXCERPT)
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${start > 0 ? '… ' : ''}${excerpt}${start + EXCERPT < text.length ? ' …' : ''}`;
}

/** Where a phrase begins. Words are compared one by one, because their folded forms can have other lengths. */
function firstPlace(text: string, phrases: readonly string[]): number {
  const starts = new Set(phrases.map((phrase) => phrase.split(' ')[0]));
  for (const { 0: word, index } of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) if (starts.has(wordsOf(word))) return index;
  return 0;
}
