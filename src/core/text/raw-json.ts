import { randomUUID } from 'node:crypto';

/** Placeholder for raw text while the value around it is serialized. It is random, so no value can contain it. */
const PLACEHOLDER = randomUUID();
const QUOTED = JSON.stringify(PLACEHOLDER);

let collected: string[] | undefined;

/** JSON that is stored as text and sent unchanged, neither parsed nor serialized. (`JSON.rawJSON` accepts only primitives.) */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    if (!collected) return JSON.parse(this.text);
    collected.push(this.text);
    return PLACEHOLDER;
  }
}

/** `JSON.stringify` that inserts the text of each `RawJson`. */
export function stringifyWithRawJson(value: unknown): string {
  const texts: string[] = [];
  collected = texts;
  let json: string;
  try {
    json = JSON.stringify(value);
  } finally {
    collected = undefined;
  }
  if (texts.length === 0) return json;
  const parts = json.split(QUOTED);
  let spliced = parts[0] ?? '';
  for (let index = 0; index < texts.length; index += 1) spliced += (texts[index] ?? '') + (parts[index + 1] ?? '');
  return spliced;
}
