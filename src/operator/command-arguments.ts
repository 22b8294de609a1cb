import { parseArgs } from 'node:util';
import { createApiKeyInput } from '../domains/api-keys/public.ts';
import { DAY_MS } from '../core/text/timestamps.ts';
import { isUuid } from '../core/text/uuids.ts';

/** A mistake of the operator. The command line prints only its message, without a stack. */
export class UsageError extends Error {}

type ParsedOptions = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

export function parse<const Options extends ParsedOptions>(args: string[], options: Options, maxPositionals = 0) {
  const parsed = strictly(() => parseArgs({ args, options, allowPositionals: true, strict: true }));
  const unexpected = parsed.positionals[maxPositionals];
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`);
  return parsed;
}

/** Reports invalid options with the first sentence of Node's message; the rest is advice about `--`. */
function strictly<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split('. ')[0] : String(error), { cause: error });
  }
}

export function sessionIdOf(text: string): string {
  const id = text.toLowerCase();
  if (!isUuid(id)) throw new UsageError('--session: must be the id of a session');
  return id;
}

const KEY = createApiKeyInput.shape;

const UNIT_MS = { d: DAY_MS, h: 3_600_000 } as const;

/** Milliseconds of days or hours, such as `90d` or `12h`. */
function spanOf(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,4})([dh])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNIT_MS[unit === 'd' ? 'd' : 'h'];
}

export function olderThan(text: string): number {
  const span = spanOf(text);
  if (span === undefined) throw new UsageError('--older-than: must be days or hours, such as 90d or 12h');
  return span;
}

export function expiryOf(text: string): Date | number {
  const span = spanOf(text);
  if (span !== undefined) return span;
  const { data } = KEY.expiresAt.safeParse(text);
  if (!data) throw new UsageError('--expires: must be days or hours, such as 90d or 12h, or an ISO 8601 date and time');
  return data;
}

export function labelOf(text: string): string {
  const { data, error } = KEY.name.safeParse(text);
  if (error) throw new UsageError(`--name: ${error.issues[0]?.message}`);
  return data;
}

export function isSlug(text: string): boolean {
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text) && text.length <= 100;
}

export function required(value: string | undefined, name: string): string {
  if (!value) throw new UsageError(`${name}: is required`);
  return value;
}

export function oneOf<const Value extends string>(allowed: readonly Value[], value: string, name: string): Value {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new UsageError(`${name}: must be one of ${allowed.join(', ')}`);
  return found;
}
