import { isObject } from '../../core/is-object.ts';
import { REDACTED } from '../../core/redaction/redact.ts';
import { WORK } from '../../core/work-budget.ts';
import type { EventData } from './event-data.ts';
import { agentOf } from './event-kind.ts';

/** Finds a text that no event has as a whole: agents write messages in parts, and a long line is in several events. */

type Data = Pick<EventData, 'scope' | 'itemId' | 'index' | 'deltaType' | 'event' | 'accumulatedText'> & {
  readonly delta?: unknown;
  readonly line?: unknown;
};

interface Part {
  readonly id: number;
  text: string;
}

export interface ChangedPart {
  readonly text: string;
  /** Beginnings of the searched text with which this part ended. The text of the message so far, in the same event, ends with them too. */
  readonly endings: readonly string[];
}

export class SplitTexts {
  /** The parts to change, by the ids of their events. */
  readonly changed = new Map<number, ChangedPart>();
  readonly #forms: readonly string[];
  readonly #longest: number;
  /** The last parts of each message, in which the text can have begun. */
  readonly #open = new Map<string, Part[]>();

  /** @param forms the text, as it is and escaped in JSON, the longest first */
  constructor(forms: readonly string[]) {
    this.#forms = forms;
    this.#longest = forms[0]?.length ?? 0;
  }

  /** Events in their order. */
  add(id: number, data: Data): void {
    const found = partOf(data);
    if (!found) return;
    const parts = found.isFirst ? [] : (this.#open.get(found.key) ?? []);
    const start = lengthOf(parts);
    parts.push({ id, text: found.text });
    this.#replace(parts, start);
    while (lengthOf(parts) - (parts[0]?.text.length ?? 0) >= this.#longest - 1 && parts.length > 1) parts.shift();
    // Added anew, so that the message that was quiet longest comes first.
    this.#open.delete(found.key);
    this.#open.set(found.key, parts);
    const [oldest = found.key] = this.#open.keys();
    if (this.#open.size > WORK.partedTexts) this.#open.delete(oldest);
  }

  /** Replaces the text if it begins before the last part and ends in it. */
  #replace(parts: readonly Part[], start: number): void {
    const joined = parts.map(({ text }) => text).join('');
    for (const form of this.#forms) {
      const at = joined.indexOf(form, Math.max(0, start - form.length + 1));
      if (at !== -1 && at < start) return this.#cut(parts, at, form);
    }
  }

  #cut(parts: readonly Part[], at: number, form: string): void {
    let offset = 0;
    let inserted = REDACTED;
    for (const part of parts) {
      const { id, text } = part;
      const from = Math.max(0, at - offset);
      const to = Math.min(text.length, at + form.length - offset);
      if (from < to) {
        part.text = text.slice(0, from) + inserted + text.slice(to);
        const { endings = [] } = this.changed.get(id) ?? {};
        const ending = form.slice(0, offset + to - at);
        this.changed.set(id, { text: part.text, endings: to === text.length ? [...endings, ending] : endings });
        inserted = '';
      }
      offset += text.length;
    }
  }
}

const lengthOf = (parts: readonly Part[]) => parts.reduce((sum, { text }) => sum + text.length, 0);

/** The part of a message or of a long line that an event has. Only parts of lines say whether they are the first. */
export function partOf(data: Data) {
  const { itemId, index, deltaType, event, delta, line } = data;
  if (typeof delta === 'string')
    return { key: JSON.stringify([agentOf(data), itemId ?? index, deltaType]), text: delta, isFirst: undefined };
  if (!isObject(line) || event == null || !(Number(line['event']) <= Number(line['parts']))) return undefined;
  return { key: 'line', text: event.message, isFirst: line['event'] === 1 };
}

/** The data of an event with its part changed. The line of the agent has the part too, and is not kept. */
export function withPart(data: Data, { text, endings }: ChangedPart): Data {
  const { event, accumulatedText } = data;
  if (typeof data.delta !== 'string') return { ...data, ...(event && { event: { ...event, message: text } }) };
  const ending = endings.find((each) => accumulatedText?.endsWith(each) === true);
  return {
    ...data,
    delta: text,
    ...(ending !== undefined && { accumulatedText: `${accumulatedText?.slice(0, -ending.length)}${REDACTED}` }),
    ...(event && { event: { ...event, message: REDACTED } }),
  };
}
