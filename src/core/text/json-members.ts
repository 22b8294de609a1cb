import { CLOSES_LIST, CLOSES_OBJECT, COMMA, OPENS_LIST, OPENS_OBJECT, QUOTE, endOfText } from './json-bounds.ts';

/** Parts of a JSON text, found in one pass without parsing what is in them: whatever their depth and width, and with their bytes. */

interface JsonMember {
  readonly name: string;
  /** The text of the value. It is not checked. */
  readonly text: string;
}

/** The members of an object in their order, repeated names included. @throws SyntaxError for another value, or if what is between them is malformed. */
export function* membersOf(json: string): Generator<JsonMember, void, undefined> {
  for (const { name, start, end } of partsOf(json, OPENS_OBJECT, CLOSES_OBJECT))
    yield { name, text: json.slice(start, end) };
}

/** The texts of the items of a list. @throws SyntaxError like `membersOf`. */
export function* itemsOf(json: string): Generator<string, void, undefined> {
  for (const { start, end } of partsOf(json, OPENS_LIST, CLOSES_LIST)) yield json.slice(start, end);
}

/** The text of a member of an object: of several with this name the last one, which is the one that parsers use. @throws SyntaxError */
export function memberOf(json: string, name: string): string | undefined {
  let found: string | undefined;
  for (const member of membersOf(json)) if (member.name === name) found = member.text;
  return found;
}

const [COLON, SPACE] = [0x3a, 0x20];

interface Part {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function* partsOf(json: string, opens: number, closes: number): Generator<Part, void, undefined> {
  let at = afterBlank(json, 0);
  if (json.charCodeAt(at) !== opens) throw malformed();
  at = afterBlank(json, at + 1);
  if (json.charCodeAt(at) === closes) return requireEnd(json, at + 1);
  for (;;) {
    let name = '';
    if (opens === OPENS_OBJECT) {
      if (json.charCodeAt(at) !== QUOTE) throw malformed();
      const end = endOfText(json, at);
      name = nameIn(json.slice(at, end + 1));
      at = afterBlank(json, end + 1);
      if (json.charCodeAt(at) !== COLON) throw malformed();
      at = afterBlank(json, at + 1);
    }
    const end = endOfValue(json, at);
    if (end === at) throw malformed();
    yield { name, start: at, end };
    at = afterBlank(json, end);
    const next = json.charCodeAt(at);
    if (next === closes) return requireEnd(json, at + 1);
    if (next !== COMMA) throw malformed();
    at = afterBlank(json, at + 1);
  }
}

function nameIn(text: string): string {
  // Faster than parsing the names of an object with a million of them.
  return text.includes('\\') || text.length < 2 ? String(JSON.parse(text)) : text.slice(1, -1);
}

function endOfValue(json: string, start: number): number {
  let levels = 0;
  for (let at = start; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfText(json, at);
      if (levels === 0) return Math.min(at + 1, json.length);
    } else if (character === OPENS_LIST || character === OPENS_OBJECT) levels += 1;
    else if (character === CLOSES_LIST || character === CLOSES_OBJECT) {
      if (levels === 0) return at;
      levels -= 1;
      if (levels === 0) return at + 1;
    } else if (levels === 0 && (character === COMMA || character <= SPACE)) return at;
  }
  throw malformed();
}

function afterBlank(json: string, start: number): number {
  let at = start;
  while (json.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

function requireEnd(json: string, at: number): void {
  if (afterBlank(json, at) !== json.length) throw malformed();
}

function malformed(): SyntaxError {
  return new SyntaxError('the JSON is malformed');
}
