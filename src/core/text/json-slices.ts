import { WORK, WorkSlices } from '../work-budget.ts';
import { parseBounded } from './exact-json.ts';
import {
  CLOSES_LIST,
  COMMA,
  type JsonBounds,
  OPENS_LIST,
  countMembers,
  malformed,
  isOpening,
  structureAt,
} from './json-scanner.ts';

/** The bounds of JSON whose properties no schema names. */
export const FREE_JSON = {
  levels: WORK.levels,
  members: WORK.members,
  objectMembers: WORK.freeProperties,
} as const satisfies JsonBounds;

/** A shorter text meets all bounds. */
const MIN_TEXT = 2 * WORK.levels;
/** Fewer members are parsed within milliseconds. */
const MANY_MEMBERS = 50_000;

/** Parses JSON within bounds, in slices if it has many members. @throws SyntaxError if it is malformed; JsonBoundError beyond a bound. */
export async function parseWithin(json: string, bounds: JsonBounds): Promise<unknown> {
  const members = json.length < MIN_TEXT ? 0 : countMembers(json, bounds);
  return members > MANY_MEMBERS ? parseInSlices(json) : parseBounded(json);
}

/** Characters that are parsed at once: less than a millisecond, whatever they are. */
const SLICE = 16 * 1024;

type Container = unknown[] | Record<string, unknown>;

/** An object or list of the document whose end has not been reached. */
interface Open {
  readonly start: number;
  readonly isList: boolean;
  /** Its members that were parsed already, because it is larger than a slice; undefined while there are none. */
  value: Container | undefined;
  /** Where the members begin that have not been parsed. */
  from: number;
  /** Where the current member begins. */
  member: number;
  /** Whether the last member was added already, so that a comma or the end must follow. */
  isAdded: boolean;
}

/**
 * `parseBounded` for an object or list with very many members, between whose parts other requests run.
 * @throws SyntaxError for malformed JSON, like `JSON.parse`.
 */
export async function parseInSlices(json: string): Promise<unknown> {
  const slices = new WorkSlices();
  const open: Open[] = [];
  for (let at = structureAt(json, 0); at < json.length; at = structureAt(json, at + 1)) {
    const character = json.charCodeAt(at);
    if (isOpening(character)) {
      if (open.length === 0) requireBlank(json.slice(0, at));
      const isList = character === OPENS_LIST;
      open.push({ start: at, isList, value: undefined, from: at + 1, member: at + 1, isAdded: false });
    } else if (character === COMMA) {
      const parent = open.at(-1) ?? malformed();
      if (parent.isAdded || at - parent.from >= SLICE) {
        addMembers(json, parent, at);
        if (slices.isOver()) await slices.pause();
      }
      parent.member = at + 1;
    } else {
      const closed = open.pop() ?? malformed();
      const parent = open.at(-1);
      // What is short is parsed with the members around it.
      if (parent && !closed.value && at - closed.start < SLICE) continue;
      const value = valueOf(json, closed, at);
      if (!parent) {
        requireBlank(json.slice(at + 1));
        return value;
      }
      addValue(json, parent, { start: closed.start, end: at, value });
      if (slices.isOver()) await slices.pause();
    }
  }
  return malformed();
}

/** The value of a container that ends at a position. */
function valueOf(json: string, closed: Open, end: number): unknown {
  if (!closed.value) return parseBounded(json.slice(closed.start, end + 1));
  if ((json.charCodeAt(end) === CLOSES_LIST) !== closed.isList) malformed();
  addMembers(json, closed, end);
  return closed.value;
}

/** Parses the members before a position, and adds them. */
function addMembers(json: string, container: Open, end: number): void {
  const { isList, isAdded, from } = container;
  const text = json.slice(from, end);
  container.from = end + 1;
  container.isAdded = false;
  if (isAdded) return requireBlank(text);
  if (isBlank(text)) malformed();
  const members = parseBounded(isList ? `[${text}]` : `{${text}}`) as Container;
  if (container.value) addAll(container.value, members);
  else container.value = members;
}

/** Adds a value that was parsed before, which is the current member of its container. */
function addValue(json: string, container: Open, child: { start: number; end: number; value: unknown }): void {
  const { isList, member, from } = container;
  if (container.isAdded) malformed();
  if (member > from) addMembers(json, container, member - 1);
  const name = json.slice(member, child.start);
  container.value ??= isList ? [] : {};
  if (isList) requireBlank(name);
  const [key = malformed()] = isList ? [''] : Object.keys(parseBounded(`{${name}null}`) as Container);
  addAll(container.value, isList ? [child.value] : { [key]: child.value });
  container.from = child.end + 1;
  container.isAdded = true;
}

function addAll(target: Container, members: Container): void {
  if (Array.isArray(target)) for (const item of members as unknown[]) target.push(item);
  else
    for (const [key, value] of Object.entries(members))
      // An assignment to this name would change the prototype.
      if (key === '__proto__')
        Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
      else target[key] = value;
}

const isBlank = (text: string): boolean => /^[ \t\n\r]*$/.test(text);

function requireBlank(text: string): void {
  if (!isBlank(text)) malformed();
}
