/**
 * Reads the structure of JSON text in one pass, without parsing what is in it: whatever its depth and width, and well-formed or not.
 */

/** Bounds of a JSON document, which are checked before it is parsed, in one pass over its text. */
export interface JsonBounds {
  /** Nested objects and lists; the document itself is the first level. */
  readonly levels: number;
  /** Properties and items of all objects and lists together. */
  readonly members?: number;
  /** Properties of an object. */
  readonly objectMembers?: number;
  /** Properties of the document itself, if it is an object. */
  readonly rootMembers?: number;
}

export class JsonBoundError extends SyntaxError {
  readonly limit: number;
  /** The first names and positions of the way to what exceeds it. */
  readonly path: readonly string[];

  constructor(message: string, limit: number, path: readonly string[] = []) {
    super(message);
    this.limit = limit;
    this.path = path;
  }
}

export const [COMMA, OPENS_LIST, CLOSES_LIST, OPENS_OBJECT, CLOSES_OBJECT] = [0x2c, 0x5b, 0x5d, 0x7b, 0x7d];
const [SPACE, QUOTE, COLON, BACKSLASH] = [0x20, 0x22, 0x3a, 0x5c];

export const isOpening = (character: number): boolean => character === OPENS_LIST || character === OPENS_OBJECT;
const isClosing = (character: number): boolean => character === CLOSES_LIST || character === CLOSES_OBJECT;

/** The position of the first bracket or comma outside texts, from a position on; the length of the document if there is none. */
export function structureAt(json: string, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) at = endOfText(json, at);
    else if (character === COMMA || isOpening(character) || isClosing(character)) return at;
  }
  return json.length;
}

/** The position of the quotation mark that ends a text. */
export function endOfText(json: string, start: number): number {
  const end = json.indexOf('"', start + 1);
  if (end < 0) return Infinity;
  if (json.charCodeAt(end - 1) !== BACKSLASH) return end;
  // Searching again for each of a million escaped quotation marks takes longer.
  for (let at = json.indexOf('\\', start + 1); at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) return at;
    if (character === BACKSLASH) at += 1;
  }
  return Infinity;
}

function afterBlank(json: string, start: number): number {
  let at = start;
  while (json.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

/**
 * Counts the members of a document: what is between two commas is one.
 * @throws JsonBoundError
 */
export function countMembers(json: string, bounds: JsonBounds): number {
  const { members: maxMembers = Infinity, levels: maxLevels } = bounds;
  const refusesWidth = widthCheck(bounds);
  // The position and the number of members so far of each open object or list.
  const opened = [0];
  const counts = [0];
  let [levels, members] = [0, 0];
  for (let at = structureAt(json, 0); at < json.length; at = structureAt(json, at + 1)) {
    const character = json.charCodeAt(at);
    if (isClosing(character)) levels = Math.max(levels - 1, 0);
    else {
      if (character !== COMMA) {
        if (levels === maxLevels)
          throw new JsonBoundError(`must not be nested deeper than ${maxLevels} levels`, maxLevels, pathTo(json, at));
        levels += 1;
        opened[levels] = at;
        counts[levels] = 0;
        if (isClosing(json.charCodeAt(afterBlank(json, at + 1)))) continue;
      }
      members += 1;
      const count = (counts[levels] = (counts[levels] ?? 0) + 1);
      if (count > MIN_WIDTH && json.charCodeAt(opened[levels] ?? 0) === OPENS_OBJECT && refusesWidth(count, levels))
        throw new JsonBoundError(`must have at most ${count - 1} properties`, count - 1, pathTo(json, opened[levels]));
      if (members > maxMembers)
        throw new JsonBoundError(`must have at most ${maxMembers} properties and items in all`, maxMembers);
    }
  }
  return members;
}

/** No object that is narrower exceeds a bound. */
const MIN_WIDTH = 500;

const widthCheck =
  ({ objectMembers = Infinity, rootMembers = Infinity }: JsonBounds) =>
  (count: number, levels: number) =>
    count > objectMembers || (levels === 1 && count > rootMembers);

/** Number of names and positions in a path, because the names of a document can be as long as it. */
const PATH_PARTS = 3;
const NAME_CHARACTERS = 100;

/** The way to the value at a position, shortened. */
function pathTo(json: string, position = 0): string[] {
  const path: (string | number)[] = [];
  for (let at = structureAt(json, 0); at < position; at = structureAt(json, at + 1)) {
    const character = json.charCodeAt(at);
    const last = character === COMMA || isClosing(character) ? path.pop() : undefined;
    if (character === OPENS_LIST) path.push(0);
    else if (character === OPENS_OBJECT) path.push(nameAfter(json, at));
    else if (character === COMMA) path.push(typeof last === 'number' ? last + 1 : nameAfter(json, at));
  }
  return path.slice(0, PATH_PARTS).map(String);
}

function nameAfter(json: string, position: number): string {
  const start = afterBlank(json, position + 1);
  try {
    return nameIn(json.slice(start, endOfText(json, start) + 1)).slice(0, NAME_CHARACTERS);
  } catch {
    return '';
  }
}

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

interface Part {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function* partsOf(json: string, opens: number, closes: number): Generator<Part, void, undefined> {
  let at = afterBlank(json, 0);
  if (json.charCodeAt(at) !== opens) malformed();
  at = afterBlank(json, at + 1);
  if (json.charCodeAt(at) === closes) return requireEnd(json, at + 1);
  for (;;) {
    let name = '';
    if (opens === OPENS_OBJECT) {
      if (json.charCodeAt(at) !== QUOTE) malformed();
      const end = endOfText(json, at);
      name = nameIn(json.slice(at, end + 1));
      at = afterBlank(json, end + 1);
      if (json.charCodeAt(at) !== COLON) malformed();
      at = afterBlank(json, at + 1);
    }
    const end = endOfValue(json, at);
    if (end === at) malformed();
    yield { name, start: at, end };
    at = afterBlank(json, end);
    const next = json.charCodeAt(at);
    if (next === closes) return requireEnd(json, at + 1);
    if (next !== COMMA) malformed();
    at = afterBlank(json, at + 1);
  }
}

function nameIn(text: string): string {
  // Faster than parsing the names of an object with a million of them.
  return text.includes('\\') || text.length < 2 ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** A number, or a word. */
const OTHER_VALUE = /[^\s,[\]{}"]*/y;

function endOfValue(json: string, start: number): number {
  const first = json.charCodeAt(start);
  if (first === QUOTE) return Math.min(endOfText(json, start) + 1, json.length);
  if (!isOpening(first)) {
    OTHER_VALUE.lastIndex = start;
    OTHER_VALUE.test(json);
    return OTHER_VALUE.lastIndex;
  }
  let levels = 0;
  for (let at = start; at < json.length; at = structureAt(json, at + 1)) {
    const character = json.charCodeAt(at);
    if (isOpening(character)) levels += 1;
    else if (isClosing(character)) levels -= 1;
    if (levels === 0) return at + 1;
  }
  return malformed();
}

function requireEnd(json: string, at: number): void {
  if (afterBlank(json, at) !== json.length) malformed();
}

export function malformed(): never {
  throw new SyntaxError('the JSON is malformed');
}
