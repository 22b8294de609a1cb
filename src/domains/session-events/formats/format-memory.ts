import { isObject } from '../../../core/is-object.ts';
import { WORK } from '../../../core/work-budget.ts';

/** A text that arrives in parts. */
interface OpenText {
  /** Null when it was forgotten because it is too long, or because others are newer. */
  readonly text: string | null;
  /** Bytes of the text as JSON. */
  readonly size: number;
  /** Bytes since it was last stored as a whole. */
  readonly added: number;
}

const LISTS = ['tools', 'calls', 'messages', 'open', 'said', 'usage'] as const;
type List = (typeof LISTS)[number];

const MAX_ITEMS = 100;
/** Maximum bytes of an item of a list with its name, and of a single value. */
const MAX_ITEM_BYTES = 512;
const MAX_VALUE_BYTES = 16 * 1024;
/** Longer texts are cut in events. */
export const MAX_TEXT = 120_000;
/** All texts together; the rest of the bound is for the lists and values. */
const MAX_TEXT_BYTES = (WORK.formatMemoryBytes * 5) / 8;

/**
 * What a format remembers of earlier lines of a session: names and values in lists, single values, and texts that arrive in parts. It is
 * stored between two requests as JSON of at most 1 MiB; the oldest are forgotten first.
 */
export class FormatMemory {
  readonly #lists = new Map<string, Map<string, unknown>>();
  readonly #values = new Map<string, unknown>();
  readonly #texts = new Map<string, OpenText>();
  #textBytes = 0;
  /** Ids of messages whose usage counts in another session. They are not stored. */
  elsewhere: ReadonlySet<string> = new Set();
  /** Ids of messages whose usage was counted since the memory was read. */
  readonly counted = new Set<string>();

  /** Reads stored memory, also that of earlier versions, which had no bounds. */
  static parse(json: string | null | undefined): FormatMemory {
    const memory = new FormatMemory();
    const stored: unknown = JSON.parse(json ?? '{}');
    for (const [name, value] of Object.entries(isObject(stored) ? stored : {})) {
      if (name === 'texts' && isObject(value))
        for (const [id, text] of Object.entries(value)) memory.#restore(id, text);
      else if (isList(name) && isObject(value))
        for (const [item, known] of Object.entries(value)) memory.remember(name, item, known);
      else memory.set(name, value);
    }
    return memory;
  }

  toJson(): string {
    const texts = [...this.#texts].map(([id, { text, added }]) => [id, text === null ? null : [text, added]]);
    return JSON.stringify({
      ...(texts.length > 0 && { texts: Object.fromEntries(texts) }),
      ...Object.fromEntries([...this.#lists].map(([name, list]) => [name, Object.fromEntries(list)])),
      ...Object.fromEntries(this.#values),
    });
  }

  get(name: string): unknown {
    return this.#values.get(name);
  }

  /** Undefined forgets the value, and so does one that is too large. */
  set(name: string, value: unknown): void {
    if (value === undefined || jsonBytes(value) > MAX_VALUE_BYTES) this.#values.delete(name);
    else this.#values.set(name, value);
  }

  recall(list: List, name: string): unknown {
    return canBeName(name) ? this.#lists.get(list)?.get(name) : undefined;
  }

  remember(list: List, name: string, value: unknown): void {
    if (!canBeName(name)) return;
    const items = this.#lists.get(list) ?? new Map<string, unknown>();
    this.#lists.set(list, items);
    // Added anew, so that the items are in the order of their age.
    items.delete(name);
    if (jsonBytes([name, value]) <= MAX_ITEM_BYTES) items.set(name, value);
    forgetOldest(items);
  }

  forget(list: List, name: string): void {
    if (canBeName(name)) this.#lists.get(list)?.delete(name);
  }

  /** The values of a list, the oldest first. */
  all(list: List): unknown[] {
    return [...(this.#lists.get(list)?.values() ?? [])];
  }

  clear(): void {
    for (const known of [this.#lists, this.#values, this.#texts]) known.clear();
    this.#textBytes = 0;
  }

  get hasTexts(): boolean {
    return this.#texts.size > 0;
  }

  /** Adds a part to a text. @returns the text so far when it should be stored again */
  addPart(id: string, part: string): string | undefined {
    if (!canBeName(id)) return undefined;
    const before = this.#texts.get(id) ?? { text: '', size: 0, added: 0 };
    if (before.text === null) return undefined;
    const added = before.added + Buffer.byteLength(part);
    this.#setText(id, { text: before.text + part, size: before.size + jsonBytes(part), added });
    return added < WORK.openTextBytes ? undefined : (this.#texts.get(id)?.text ?? undefined);
  }

  /** The last characters of each text that goes on, by item. */
  endsOf(length: number): Map<string, string> {
    const known = [...this.#texts].flatMap(([id, { text }]) => (text === null ? [] : [[id, text] as const]));
    return new Map(known.map(([id, text]) => [id, text.slice(-length)]));
  }

  /** Replaces the end of a text, if it is still that. */
  replaceEnd(id: string, { from, to }: { readonly from: string; readonly to: string }): void {
    const open = canBeName(id) ? this.#texts.get(id) : undefined;
    if (open?.text?.endsWith(from) !== true) return;
    const text = open.text.slice(0, open.text.length - from.length) + to;
    this.#setText(id, { text, size: jsonBytes(text), added: open.added });
  }

  /** Notes that the text so far was stored. */
  textIsStored(id: string): void {
    const open = canBeName(id) ? this.#texts.get(id) : undefined;
    if (open) this.#texts.set(id, { ...open, added: 0 });
  }

  /** Ends a text. @returns the whole text, if it is known */
  endText(id: string): string | undefined {
    if (!canBeName(id)) return undefined;
    const open = this.#texts.get(id);
    this.#texts.delete(id);
    this.#textBytes -= open?.size ?? 0;
    return open?.text ?? undefined;
  }

  /** The memory without the texts of these items: what is known of them is never stored again. */
  withoutTexts(items: ReadonlySet<string>): string {
    for (const id of items) if (this.#texts.has(id)) this.#setText(id, { text: null, size: 0, added: 0 });
    return this.toJson();
  }

  #setText(id: string, next: OpenText): void {
    this.endText(id);
    const isTooLong = (next.text?.length ?? 0) > MAX_TEXT || next.size > MAX_TEXT_BYTES;
    const open = isTooLong ? { text: null, size: 0, added: 0 } : next;
    this.#texts.set(id, open);
    this.#textBytes += open.size;
    forgetOldest(this.#texts, ({ size }) => (this.#textBytes -= size));
    for (const [oldest, { size }] of this.#texts) {
      if (this.#textBytes <= MAX_TEXT_BYTES) return;
      this.#texts.set(oldest, { text: null, size: 0, added: 0 });
      this.#textBytes -= size;
    }
  }

  #restore(id: string, stored: unknown): void {
    const [text, added]: readonly unknown[] = Array.isArray(stored) ? stored : [stored, 0];
    if (!canBeName(id)) return;
    if (typeof text !== 'string') this.#setText(id, { text: null, size: 0, added: 0 });
    else this.#setText(id, { text, size: jsonBytes(text), added: typeof added === 'number' ? added : 0 });
  }
}

const isList = (name: string): name is List => (LISTS as readonly string[]).includes(name);

function forgetOldest<Item>(items: Map<string, Item>, onForget: (item: Item) => void = () => undefined): void {
  for (const [name, item] of items) {
    if (items.size <= MAX_ITEMS) return;
    items.delete(name);
    onForget(item);
  }
}

/** Whether a name is short enough. Longer ones are not even looked for: a line can have thousands of events with the same long id. */
const canBeName = (name: string) => name.length <= MAX_NAME;
const MAX_NAME = 200;

const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
