import { type Range, findCredentials } from '../../core/redaction/find-credentials.ts';
import { REDACTED } from '../../core/redaction/redact.ts';
import { MAY_HAVE_CREDENTIAL } from '../../core/redaction/shapes.ts';
import { parseExactJson } from '../../core/text/exact-json.ts';
import { WorkSlices } from '../../core/work-budget.ts';
import type { EventData } from './event-data.ts';
import { type ChangedPart, partOf, withPart } from './split-texts.ts';

/**
 * Credentials that no event has as a whole: agents write messages in parts, and a long line is in several events. The parts of each text are
 * joined and searched, with the end of what earlier requests had of it.
 */

/** How much of an earlier request is searched again: longer than any credential but a private key. */
export const SEARCHED_END = 16 * 1024;

/** The beginning of a credential at the end of what is stored of a text, whose rest was sent now. */
export interface Beginning {
  readonly itemId: string;
  readonly text: string;
}

export interface CutParts {
  /** The data of the events, without the parts of credentials. */
  readonly documents: readonly string[];
  /** Each credential, with the event in which it begins. */
  readonly secrets: readonly { readonly index: number; readonly secret: string }[];
  readonly beginnings: readonly Beginning[];
  /** The texts that go on, by item: what was searched of each, and what it becomes. A credential at its end may go on too. */
  readonly replaced: ReadonlyMap<string, { readonly from: string; readonly to: string }>;
}

interface PartedText {
  readonly itemId: string;
  /** The end of what is stored. */
  readonly before: string;
  readonly parts: { readonly index: number; readonly text: string }[];
}

/** Only such an event is parsed. */
const MAY_BE_PART = /"delta":"|"parts":\d/;

/** @param ends the ends of the texts that earlier requests have begun, by item */
export async function cutPartedCredentials(
  documents: readonly string[],
  ends: ReadonlyMap<string, string>,
): Promise<CutParts> {
  const slices = new WorkSlices();
  const texts = new Map<string, PartedText>();
  let lines = 0;
  for (const [index, document] of documents.entries()) {
    if (!MAY_BE_PART.test(document)) continue;
    if (slices.isOver()) await slices.pause();
    const data = JSON.parse(document) as EventData;
    const found = partOf(data);
    if (!found) continue;
    if (found.isFirst) lines += 1;
    const isLine = found.isFirst !== undefined;
    const itemId = isLine ? '' : (data.itemId ?? '');
    const key = isLine ? `line ${lines}` : found.key;
    const text = texts.get(key) ?? { itemId, before: ends.get(itemId) ?? '', parts: [] };
    text.parts.push({ index, text: found.text });
    texts.set(key, text);
  }
  const joined = new Map<string, PartedText>();
  for (const text of texts.values()) {
    const whole = text.before + text.parts.map((part) => part.text).join('');
    if (MAY_HAVE_CREDENTIAL.test(whole)) joined.set(whole, text);
  }
  const cutting = new Cutting([...documents]);
  for (const [whole, ranges] of await findCredentials(joined.keys(), slices)) {
    const text = joined.get(whole);
    if (text) await cutting.add(whole, text, ranges, slices);
  }
  return cutting;
}

class Cutting implements CutParts {
  readonly documents: string[];
  readonly secrets: { index: number; secret: string }[] = [];
  readonly beginnings: Beginning[] = [];
  readonly replaced = new Map<string, { from: string; to: string }>();

  constructor(documents: string[]) {
    this.documents = documents;
  }

  async add(
    whole: string,
    { itemId, before, parts }: PartedText,
    ranges: readonly Range[],
    slices: WorkSlices,
  ): Promise<void> {
    const stored = before.length;
    const crossing = ranges.find(({ start, end }) => start < stored && stored < end);
    if (crossing && !(await reachesEnd(before, crossing.start, slices)))
      this.beginnings.push({ itemId, text: whole.slice(crossing.start, stored) });
    let [from, next] = [stored, 0];
    for (const { index, text } of parts) {
      if (slices.isOver()) await slices.pause();
      const to = from + text.length;
      while ((ranges[next]?.end ?? Infinity) <= from) next += 1;
      const own: Range[] = [];
      for (let at = next; (ranges[at]?.start ?? Infinity) < to; at += 1) own.push(ranges[at] ?? { start: to, end: to });
      // What one part has as a whole is found like every other credential.
      if (own.some(({ start, end }) => start < from || end > to)) {
        this.#cut(index, partWithout(whole, own, from, to));
        for (const { start, end } of own)
          if (start >= from || from === stored) this.secrets.push({ index, secret: whole.slice(start, end) });
      }
      from = to;
    }
    if (itemId !== '') this.replaced.set(itemId, { from: whole, to: replacedIn(whole, ranges) });
  }

  #cut(index: number, changed: ChangedPart): void {
    const data = parseExactJson(this.documents[index] ?? '{}') as EventData;
    this.documents[index] = JSON.stringify(withPart(data, changed));
  }
}

/** Whether the text alone has the credential, so that it was replaced when it was stored. */
async function reachesEnd(text: string, start: number, slices: WorkSlices): Promise<boolean> {
  const ranges = (await findCredentials([text], slices)).get(text) ?? [];
  return ranges.some((range) => range.start === start && range.end === text.length);
}

/** What a part becomes. A credential that began before it is replaced there. */
function partWithout(whole: string, ranges: readonly Range[], from: number, to: number): ChangedPart {
  let [text, at] = ['', from];
  for (const { start, end } of ranges) {
    text += whole.slice(at, Math.max(at, start)) + (start < from ? '' : REDACTED);
    at = Math.min(to, end);
  }
  const last = ranges.at(-1);
  const endings = last && last.end > to ? [whole.slice(last.start, to)] : [];
  return { text: text + whole.slice(at, to), endings };
}

/** Without what at the end may be only the beginning of a longer credential. */
function replacedIn(whole: string, ranges: readonly Range[]): string {
  let [text, at] = ['', 0];
  for (const { start, end } of ranges) {
    if (end === whole.length) break;
    text += whole.slice(at, start) + REDACTED;
    at = end;
  }
  return text + whole.slice(at);
}
