import { randomUUID } from 'node:crypto';

/** Takes the place of a raw text while the value around it is stringified. Nobody can know it, so nobody can put it into a value. */
const PLACEHOLDER = randomUUID();
const QUOTED = JSON.stringify(PLACEHOLDER);

let collected: string[] | undefined;

/** JSON that is stored as text and goes to the wire as it stands, neither parsed nor stringified. `JSON.rawJSON` takes primitives alone. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    if (!collected) return JSON.parse(this.text) as unknown;
    collected.push(this.text);
    return PLACEHOLDER;
  }
}

/** `JSON.stringify`, with each `RawJson` spliced in as its text. */
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
