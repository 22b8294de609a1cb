import { createHash } from 'node:crypto';
import { isObject } from '../is-object.ts';
import { WorkSlices } from '../work-budget.ts';
import { isExactNumber } from './exact-json.ts';

/** SHA-256 of the JSON of a value with sorted properties. Other requests run meanwhile, because an input can have hundreds of thousands. */
export async function hashOfJson(value: unknown): Promise<string> {
  const digest = createHash('sha256');
  const slices = new WorkSlices();
  // What is left to write, the last first. Inputs can be nested too deeply for a function that calls itself.
  const left: (string | { readonly value: unknown })[] = [{ value }];
  let text = '';
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    text += typeof next === 'string' ? next : written(next.value, left);
    if (text.length < HASHED_AT_ONCE) continue;
    digest.update(text);
    text = '';
    if (slices.isOver()) await slices.pause();
  }
  return digest.update(text).digest('hex');
}

const HASHED_AT_ONCE = 16 * 1024;

/** The beginning of the JSON of a value; what follows is added to `left`. */
function written(value: unknown, left: (string | { readonly value: unknown })[]): string {
  if (Array.isArray(value)) {
    left.push(']');
    for (let index = value.length - 1; index >= 0; index -= 1) left.push({ value: value[index] }, index > 0 ? ',' : '');
    return '[';
  }
  if (!isObject(value) || isExactNumber(value) || 'toJSON' in value) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).filter((name) => value[name] !== undefined);
  left.push('}');
  for (const [index, name] of names.toSorted((a, b) => (a > b ? -1 : 1)).entries())
    left.push({ value: value[name] }, `${index < names.length - 1 ? ',' : ''}${JSON.stringify(name)}:`);
  return '{';
}
