import { setImmediate as nextIteration } from 'node:timers/promises';
import { isSurelyLarger } from '../answer-size.ts';
import { RawJson, stringifyWithRawJson } from './raw-json.ts';

/** About so many characters are written before other work may run, and at once. A string is always written at once. */
const STEP_LENGTH = 256 * 1024;

/** Gives the same text as `stringifyWithRawJson`, but lets other work run meanwhile: 32 MiB would block the event loop for a quarter of a second. */
export async function stringifyInSteps(value: unknown): Promise<string> {
  // One string, because joining a list of parts would copy them once more.
  let text = '';
  let pausedAt = 0;
  const writeValue = async (current: unknown): Promise<void> => {
    if (!isDivisible(current)) {
      text += stringifyWithRawJson(current);
      if (text.length - pausedAt < STEP_LENGTH) return;
      pausedAt = text.length;
      await nextIteration();
      return;
    }
    const isList = Array.isArray(current);
    let before = isList ? '[' : '{';
    for (const [name, member] of Object.entries(current)) {
      text += isList ? before : `${before}${JSON.stringify(name)}:`;
      before = ',';
      await writeValue(member);
    }
    text += isList ? ']' : '}';
  };
  await writeValue(value);
  return text;
}

/** Whether a value is too large for one step and has members. */
function isDivisible(value: unknown): value is object {
  return typeof value === 'object' && !(value instanceof RawJson) && isSurelyLarger(value, STEP_LENGTH);
}
