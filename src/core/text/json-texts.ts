import { isObject } from '../is-object.ts';
import type { WorkSlices } from '../work-budget.ts';
import { isExactNumber, parseExactJson } from './exact-json.ts';
import { countMembers } from './json-scanner.ts';

/** Changes the texts of JSON values, in steps, so that other requests run meanwhile. */

export interface TextChange {
  /**
   * Returns what a text becomes. `name` is that of the member that has it, also within a list; empty for the value itself, and undefined if
   * the text is the name of a member.
   */
  readonly change: (text: string, name: string | undefined) => string;
  /** Whether a text that looks like a JSON object, such as the line of an agent, is changed by its own texts, so that it stays well-formed. */
  readonly isSearched: (json: string) => boolean;
  /** Whether such a text is then also changed as a whole. */
  readonly isAlsoChanged?: boolean;
}

/** A computation whose steps are short. */
type Steps<Result> = Generator<undefined, Result, undefined>;

export async function inSlices<Result>(steps: Steps<Result>, slices: WorkSlices): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slices.isOver()) await slices.pause();
  }
}

/** Calls `change` for all texts and member names, and changes the value accordingly: a copy can have hundreds of thousands of members. */
export function* replaceTexts(value: unknown, how: TextChange, name = ''): Steps<unknown> {
  if (typeof value === 'string') return yield* replaceText(value, how, name);
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (let index = 0; index < items.length; index += 1) {
      yield;
      items[index] = yield* replaceTexts(items[index], how, name);
    }
    return items;
  }
  if (!isObject(value) || isExactNumber(value)) return value;
  const members: Record<string, unknown> = value;
  const renamed = new Map<string, string>();
  for (const member of Object.keys(members)) {
    yield;
    members[member] = yield* replaceTexts(members[member], how, member);
    const changed = how.change(member, undefined);
    if (changed !== member) renamed.set(member, changed);
  }
  return renamed.size > 0 ? withNames(value, renamed) : value;
}

/** The object with other names of its members; equal ones are numbered. */
function withNames(value: Readonly<Record<string, unknown>>, renamed: ReadonlyMap<string, string>) {
  const members = new Map<string, unknown>();
  let number = 1;
  for (const [name, member] of Object.entries(value)) {
    const given = renamed.get(name) ?? name;
    let unique = given;
    while (members.has(unique)) unique = `${given} ${(number += 1)}`;
    members.set(unique, member);
  }
  return Object.fromEntries(members);
}

function* replaceText(text: string, how: TextChange, name: string): Steps<string> {
  const isObjectText = text.startsWith('{') && text.endsWith('}');
  const inner = isObjectText && how.isSearched(text) ? parsedIfJson(text) : undefined;
  const isDoubled = inner !== undefined && membersOf(inner) < countMembers(text, { levels: MAX_INNER_LEVELS });
  if (inner === undefined) return how.change(text, isObjectText ? '' : name);
  let isChanged = false;
  const change: TextChange['change'] = (before, innerName) => {
    const after = how.change(before, innerName);
    isChanged ||= after !== before;
    return after;
  };
  const value = yield* replaceTexts(inner, { ...how, change });
  const changed = isChanged ? JSON.stringify(value) : text;
  return how.isAlsoChanged || (isDoubled && !isChanged) ? how.change(changed, '') : changed;
}

/** The members and items of a value. Of members with the same name, which are in the text, it has only the last. */
function membersOf(root: unknown): number {
  const waiting = [root];
  let count = 0;
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null || isExactNumber(value)) continue;
    for (const member of Object.values(value)) {
      count += 1;
      if (typeof member === 'object') waiting.push(member);
    }
  }
  return count;
}

const MAX_INNER_LEVELS = 200;

/** The value of a JSON text; undefined if it is none, or so deep that it is searched as a text. */
function parsedIfJson(text: string): unknown {
  try {
    return parseExactJson(text, MAX_INNER_LEVELS);
  } catch {
    return undefined;
  }
}
