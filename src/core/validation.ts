import { z } from 'zod';
import { type Fault, ValidationError } from './errors.ts';

/**
 * Parses hostile input with the schema of its operation. Present keys matter to the schemas: see `optional`.
 * @throws ValidationError naming every broken field and bound.
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (!result.success) throw toValidationError(result.error.issues);
  return result.data;
}

/** Issues as zod reports them, also through the Standard Schema interface; `root` is left out of their paths. */
export function toValidationError(issues: readonly object[], root?: string): ValidationError {
  const faults = issues
    .flatMap((issue) => faultsOf(issue as z.core.$ZodIssue))
    .map((fault) => (fault.path[0] === root ? { ...fault, path: fault.path.slice(1) } : fault));
  return invalidInput(faults);
}

/** The error for faults of an input, of which it reports at most 100. */
export function invalidInput(faults: readonly Fault[]): ValidationError {
  const more = faults.length - MAX_FAULTS;
  // A body of 4 MiB can hold hundreds of thousands of faults, and would be answered with many times its size.
  return new ValidationError(
    more > 0
      ? [...faults.slice(0, MAX_FAULTS), { path: [], code: 'more_faults', message: `and ${more} more` }]
      : faults,
  );
}

/** Faults that are told of one input. */
const MAX_FAULTS = 100;

/** In a create: `null` is the same as absent. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
}

/** In a create: absent and `null` both mean the default. */
export function withDefault<Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) {
  return schema.nullish().transform((given): z.output<Schema> => given ?? value);
}

/** Whether PostgreSQL stores it as text and in JSON: it takes no NUL, and no lone surrogate, which is not Unicode text. */
export function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed();
}

export const NOT_KNOWN = 'is not a known property';
export const NOT_STORABLE = 'must be well-formed text without NUL characters';

/** Characters are Unicode code points, of which some take two of JavaScript's units. */
export function isLongerThan(value: string, max: number): boolean {
  return value.length > max && (value.length > 2 * max || Array.from(value).length > max);
}

/** Bounded text that can be stored. */
export function text(bounds: { min?: number; max: number }) {
  const { min = 0, max } = bounds;
  return z
    .string()
    .min(min, min === 1 ? 'must not be empty' : `must be at least ${min} characters`)
    .max(max, `must be at most ${max} characters`)
    .refine(isStorable, NOT_STORABLE);
}

/** Characters of a URI (RFC 3986, section 2). Parsers of URLs let more pass, such as spaces and line breaks, and take it away. */
const HTTP_URI = /^https?:\/\/(?![/?#])(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/i;
const USER_INFORMATION = /^[^/?#]*\/\/[^/?#]*@/;

/** A URI of http or https with a host and without user information; kept as it was given. */
export function httpUri({ max }: { max: number }) {
  return text({ min: 1, max })
    .refine(isHttp, 'must be an http or https URL')
    .refine((value) => !isHttp(value) || !USER_INFORMATION.test(value), 'must not contain user information')
    .refine(
      (value) => !isHttp(value) || HTTP_URI.test(value),
      'must be a URI (RFC 3986): begin with https:// or http://, and have other characters than its own percent-encoded',
    )
    .meta({ format: 'uri' });
}

function isHttp(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol);
}

/** What a schema library says, in the words of our messages: the bound is always named. */
function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const message = defaultOr(issue, NOT_KNOWN);
    return issue.keys.map((key) => ({ path: [...path, key], code: 'unknown_property', message }));
  }
  // A bad key is a fault of the object that has it.
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({
      path: path.slice(0, -1),
      code: inner.code ?? 'invalid',
      message: `a key ${describeIssue(inner)}`,
    }));
  }
  return [{ path, code: issue.code ?? 'invalid', message: describeIssue(issue) }];
}

function describeIssue(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      // An issue keeps its message, not its input: only the library's own sentence tells a missing value from one of another type.
      return issue.message.endsWith('received undefined')
        ? 'is required'
        : defaultOr(issue, `must be ${article(issue.expected)}`);
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_big':
      return issue.origin === 'array'
        ? `must have at most ${issue.maximum} items`
        : defaultOr(issue, `must be at most ${issue.maximum}${unit(issue.origin)}`);
    case 'too_small':
      return issue.origin === 'array'
        ? `must have at least ${issue.minimum} items`
        : defaultOr(issue, `must be at least ${issue.minimum}${unit(issue.origin)}`);
    case 'invalid_format':
      return issue.format === 'uuid' ? 'must be a UUID' : defaultOr(issue, `must be a valid ${issue.format}`);
    case 'invalid_union':
      return 'note' in issue && typeof issue.note === 'string'
        ? `must have a known ${issue.discriminator ?? 'shape'}`
        : 'has none of the allowed shapes';
    default:
      return issue.message;
  }
}

/** zod's own sentences start with a capital; ours, given beside the rule, do not. */
function defaultOr(issue: z.core.$ZodIssue, fallback: string): string {
  return /^[A-Z]/.test(issue.message) ? fallback : issue.message;
}

function unit(origin: string): string {
  return origin === 'string' ? ' characters' : '';
}

function article(expected: string): string {
  const noun = { int: 'integer', record: 'object' }[expected] ?? expected;
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}
