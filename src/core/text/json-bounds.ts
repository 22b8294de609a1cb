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

/** JSON that exceeds a bound. */
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

export const [OPENS_LIST, CLOSES_LIST, OPENS_OBJECT, CLOSES_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
export const [QUOTE, COMMA] = [0x22, 0x2c];
const [SPACE, BACKSLASH] = [0x20, 0x5c];

/**
 * Counts the members of a document, well-formed or not: what is between two commas is one.
 * @throws JsonBoundError
 */
export function countMembers(json: string, bounds: JsonBounds): number {
  const { members: maxMembers = Infinity, levels: maxLevels } = bounds;
  const refusesWidth = widthCheck(bounds);
  // The position and the number of members so far of each open object or list.
  const opened = [0];
  const counts = [0];
  let [levels, members, isEmpty] = [0, 0, false];
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character <= SPACE) continue;
    const closes = character === CLOSES_LIST || character === CLOSES_OBJECT;
    if (character === COMMA || (isEmpty && !closes)) {
      members += 1;
      const count = (counts[levels] = (counts[levels] ?? 0) + 1);
      if (count > MIN_WIDTH && json.charCodeAt(opened[levels] ?? 0) === OPENS_OBJECT && refusesWidth(count, levels))
        throw new JsonBoundError(`must have at most ${count - 1} properties`, count - 1, pathTo(json, opened[levels]));
    }
    isEmpty = false;
    if (closes) levels = Math.max(levels - 1, 0);
    else if (character === QUOTE) at = endOfText(json, at);
    else if (character === OPENS_LIST || character === OPENS_OBJECT) {
      if (levels === maxLevels)
        throw new JsonBoundError(`must not be nested deeper than ${maxLevels} levels`, maxLevels, pathTo(json, at));
      levels += 1;
      opened[levels] = at;
      counts[levels] = 0;
      isEmpty = true;
    }
    if (members > maxMembers)
      throw new JsonBoundError(`must have at most ${maxMembers} properties and items in all`, maxMembers);
  }
  return members;
}

/** No object that is narrower exceeds a bound. */
const MIN_WIDTH = 500;

function widthCheck({ objectMembers = Infinity, rootMembers = Infinity }: JsonBounds) {
  return (count: number, levels: number) => count > objectMembers || (levels === 1 && count > rootMembers);
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

/** Number of names and positions in a path, because the names of a document can be as long as it. */
const PATH_PARTS = 3;
const NAME_CHARACTERS = 100;

/** The way to the value at a position, shortened. */
function pathTo(json: string, position = 0): string[] {
  const path: (string | number | undefined)[] = [];
  for (let at = 0; at < position; at += 1) {
    const character = json.charCodeAt(at);
    if (character === OPENS_LIST) path.push(0);
    else if (character === OPENS_OBJECT) path.push(undefined);
    else if (character === CLOSES_LIST || character === CLOSES_OBJECT) path.pop();
    else if (character === COMMA) {
      const last = path.pop();
      path.push(typeof last === 'number' ? last + 1 : undefined);
    } else if (character === QUOTE) {
      const end = endOfText(json, at);
      if (path.length > 0 && path.at(-1) === undefined) path[path.length - 1] = nameIn(json.slice(at, end + 1));
      at = end;
    }
  }
  return path.slice(0, PATH_PARTS).map(String);
}

function nameIn(text: string): string {
  try {
    return String(JSON.parse(text)).slice(0, NAME_CHARACTERS);
  } catch {
    return '';
  }
}
