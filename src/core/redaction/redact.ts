import { parseExactJson } from '../text/exact-json.ts';
import { type TextChange, inSlices, replaceTexts } from '../text/json-texts.ts';
import { WorkSlices } from '../work-budget.ts';
import { type Range, findCredentials } from './find-credentials.ts';
import { MAY_HAVE_CREDENTIAL } from './shapes.ts';

/** Replaces credentials in texts before they are stored. */

export const REDACTED = '[redacted]';

interface Redacted {
  /** JSON texts in the same order. Texts without secrets are unchanged. */
  readonly documents: readonly string[];
  /**
   * How many secrets were replaced. Several occurrences of a secret in a document, or in documents of one group, count once, and so does a
   * secret with beginnings of it, which are in texts that grow.
   */
  readonly secrets: number;
}

/**
 * Replaces secrets in all texts and member names of JSON documents, and counts them with those that are `known` of a document already. A text that is a JSON object itself, such as the line of an agent, is
 * searched by its own texts, so that it stays well-formed.
 */
export async function redactDocuments(
  documents: readonly string[],
  groupOf: (index: number) => number = (index) => index,
  known: readonly { readonly index: number; readonly secret: string }[] = [],
): Promise<Redacted> {
  const slices = new WorkSlices();
  const values = new Map<number, unknown>();
  const texts = new Map<string, Text>();
  const collect: TextChange['change'] = (text, name) => {
    const label = labelOf(name);
    if (text.length >= MIN_SECRET && MAY_HAVE_CREDENTIAL.test(label + text))
      texts.set(label + text, { text, labelLength: label.length });
    return text;
  };
  for (const [index, document] of documents.entries()) {
    if (slices.isOver()) await slices.pause();
    if (mayHaveCredential(document))
      values.set(
        index,
        await inSlices(
          replaceTexts(parseExactJson(document), { change: collect, isSearched: mayHaveCredential }),
          slices,
        ),
      );
  }
  const replacements = await findReplacements(texts, slices);
  const found = new Map<number, Set<string>>();
  for (const { index, secret } of known)
    found.set(groupOf(index), (found.get(groupOf(index)) ?? new Set<string>()).add(secret));
  const redacted = [...documents];
  for (const [index, value] of values) {
    if (slices.isOver()) await slices.pause();
    const secrets = found.get(groupOf(index)) ?? new Set<string>();
    let isChanged = false;
    const change: TextChange['change'] = (text, name) => {
      const replacement = replacements.get(labelOf(name) + text);
      if (!replacement) return text;
      isChanged = true;
      for (const secret of replacement.secrets) secrets.add(secret);
      return replacement.text;
    };
    const changed = await inSlices(replaceTexts(value, { change, isSearched: mayHaveCredential }), slices);
    if (!isChanged) continue;
    redacted[index] = JSON.stringify(changed);
    found.set(groupOf(index), secrets);
  }
  return { documents: redacted, secrets: [...found.values()].reduce((sum, secrets) => sum + wholeOf(secrets), 0) };
}

/** How many of the secrets are no beginning of another. */
function wholeOf(secrets: ReadonlySet<string>): number {
  const sorted = [...secrets].toSorted();
  return sorted.filter((secret, index) => sorted[index + 1]?.startsWith(secret) !== true).length;
}

/** Replaces secrets in all texts of a JSON value, if what is recorded is redacted. */
export async function redactValue<Value>(
  { settings }: { readonly settings: { readonly isRecordRedacted: boolean } },
  value: Value,
): Promise<Value> {
  if (!settings.isRecordRedacted) return value;
  const document = JSON.stringify(value);
  const {
    documents: [redacted = document],
  } = await redactDocuments([document]);
  // Only texts differ.
  return redacted === document ? value : (JSON.parse(redacted) as Value);
}

/** No shape matches a shorter text. */
const MIN_SECRET = 8;

interface Text {
  readonly text: string;
  /** Its label is before it where it is searched. */
  readonly labelLength: number;
}

interface Replacement {
  readonly text: string;
  readonly secrets: readonly string[];
}

/** The replacement of each text with a secret. */
async function findReplacements(
  texts: ReadonlyMap<string, Text>,
  slices: WorkSlices,
): Promise<Map<string, Replacement>> {
  if (texts.size === 0) return new Map();
  const replacements = new Map<string, Replacement>();
  for (const [labelled, ranges] of await findCredentials(texts.keys(), slices)) {
    const { text, labelLength } = texts.get(labelled) ?? { text: labelled, labelLength: 0 };
    const own = ranges
      .map(({ start, end }) => ({ start: Math.max(0, start - labelLength), end: end - labelLength }))
      .filter(({ start, end }) => start < end);
    if (own.length > 0) replacements.set(labelled, replace(text, own));
  }
  return replacements;
}

function replace(text: string, ranges: readonly Range[]): Replacement {
  let [result, at] = ['', 0];
  for (const { start, end } of ranges) {
    result += text.slice(at, start) + REDACTED;
    at = end;
  }
  return { text: result + text.slice(at), secrets: ranges.map(({ start, end }) => text.slice(start, end)) };
}

/** Whether a JSON document can have a credential. Escapes can hide its characters. */
export const mayHaveCredential = (json: string) => MAY_HAVE_CREDENTIAL.test(json) || ESCAPED_CHARACTER.test(json);
const ESCAPED_CHARACTER = /\\(?:\/|u00[2-7])/;

/** Properties whose values are credentials by their name: they are searched together with it. */
const TELLING_NAME = /auth|key|token|secret|passw|credential/i;

const labelOf = (name = '') => (name.length < 100 && TELLING_NAME.test(name) ? `${name}: ` : '');
