import { z } from 'zod';
import { type Message, inRest } from './text/wording.ts';
import { type InputFault, type InputFaultCode, ValidationError } from './errors.ts';

/**
 * Parses hostile input with the schema of its operation. Present keys matter to the schemas: see `optional`.
 * @throws ValidationError naming every broken field and bound.
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, REPORTING);
  if (!result.success) throw toValidationError(result.error.issues);
  return result.data;
}

/** An issue keeps the value that it is about, which distinguishes a missing one from one that does not fit. */
const REPORTING = { reportInput: true };

/** Issues as zod reports them, also through the Standard Schema interface; `root` is left out of their paths. */
export function toValidationError(issues: readonly object[], root?: string): ValidationError {
  const faults = issues
    .flatMap((issue) => faultsOf(issue as z.core.$ZodIssue))
    .map((fault) => (fault.path[0] === root ? { ...fault, path: fault.path.slice(1) } : fault));
  return invalidInput(faults);
}

/** The error for faults of an input, of which it reports at most 100. */
export function invalidInput(faults: readonly InputFault[]): ValidationError {
  const more = faults.length - MAX_FAULTS;
  // A body of 4 MiB can hold hundreds of thousands of faults, and would be answered with many times its size.
  return new ValidationError(
    more > 0
      ? [
          ...faults.slice(0, MAX_FAULTS),
          { path: [], code: 'TOO_MANY' as const, message: `and ${more} more`, limit: MAX_FAULTS },
        ]
      : faults,
  );
}

/** Faults that are reported of one input. */
const MAX_FAULTS = 100;

/** The id of a noun, such as `idSchema<SessionId>()`. Only its type differs from that of any UUID. */
export function idSchema<Of extends string>(schema: z.ZodUUID = z.uuid()) {
  return schema as z.ZodUUID & { readonly _zod: { readonly output: Of } };
}

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
    .refine(isStorable, rule('BAD_FORMAT', NOT_STORABLE));
}

/** Characters of a URI (RFC 3986, section 2). Parsers of URLs let more pass, such as spaces and line breaks, and take it away. */
const HTTP_URI = /^https?:\/\/(?![/?#])(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/i;
const USER_INFORMATION = /^[^/?#]*\/\/[^/?#]*@/;

/** A URI of http or https with a host and without user information; kept as it was given. */
export function httpUri({ max }: { max: number }) {
  return text({ min: 1, max })
    .refine(isHttp, rule('BAD_FORMAT', 'must be an http or https URL'))
    .refine(
      (value) => !isHttp(value) || !USER_INFORMATION.test(value),
      rule('BAD_FORMAT', 'must not contain user information'),
    )
    .refine(
      (value) => !isHttp(value) || HTTP_URI.test(value),
      rule(
        'BAD_FORMAT',
        'must be a URI (RFC 3986): begin with https:// or http://, and have other characters than its own percent-encoded',
      ),
    )
    .meta({ format: 'uri' });
}

function isHttp(value: string): boolean {
  return URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol);
}

/** What a rule of our own says of a value that breaks it: for `refine`, and in issues that are added. */
export function rule(code: InputFaultCode, message: Message, limit?: number) {
  return { message: inRest(message), params: { code, limit, ...(typeof message === 'object' && { message }) } };
}

/** Likewise of a name in an object whose names are free. */
export function keyRule(key: string, code: InputFaultCode, message: string) {
  return { message, params: { code, key } };
}

/** What a schema library says, in the words and codes of our own: the bound is always named. */
function faultsOf(issue: z.core.$ZodIssue): InputFault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const message = defaultOr(issue, NOT_KNOWN);
    return issue.keys.map((key) => ({ path: [...path, key], code: 'UNKNOWN_FIELD', message }));
  }
  // A bad key is a fault of the object that has it.
  if (issue.code === 'invalid_key') {
    return issue.issues.map((inner) => ({
      path: path.slice(0, -1),
      key: path.at(-1),
      ...ruleOf(inner),
      message: `a key ${describeIssue(inner)}`,
    }));
  }
  return [{ path, message: describeIssue(issue), ...ruleOf(issue) }];
}

/** The rule that was broken, with its bound. */
function ruleOf(issue: z.core.$ZodIssue): Pick<InputFault, 'code' | 'limit' | 'key'> & Partial<InputFault> {
  if (isMissing(issue) || isNull(issue)) return { code: 'REQUIRED' };
  switch (issue.code) {
    case 'invalid_type':
      return { code: 'WRONG_TYPE' };
    case 'too_big':
      return { code: SIZE_CODES[sizeOf(issue.origin)].tooBig, limit: Number(issue.maximum) };
    case 'too_small':
      return { code: SIZE_CODES[sizeOf(issue.origin)].tooSmall, limit: Number(issue.minimum) };
    case 'invalid_format':
    case 'not_multiple_of':
      return { code: 'BAD_FORMAT' };
    case 'custom':
      return { code: 'NOT_ALLOWED', ...(issue.params as ReturnType<typeof rule>['params'] | undefined) };
    default:
      return { code: 'NOT_ALLOWED' };
  }
}

const SIZE_CODES = {
  text: { tooBig: 'TOO_LONG', tooSmall: 'TOO_SHORT' },
  list: { tooBig: 'TOO_MANY', tooSmall: 'TOO_FEW' },
  number: { tooBig: 'TOO_LARGE', tooSmall: 'TOO_SMALL' },
} as const;

function sizeOf(origin: string): keyof typeof SIZE_CODES {
  if (origin === 'string') return 'text';
  return origin === 'array' || origin === 'set' || origin === 'map' || origin === 'object' ? 'list' : 'number';
}

/** Of a discriminated union the value is the object that lacks its discriminator. */
function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_union' && 'note' in issue && issue.discriminator !== undefined) {
    const { input } = issue;
    return typeof input === 'object' && input !== null && !(issue.discriminator in input);
  }
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return false;
  // An issue that was copied from another schema has lost its value; only the library's own sentence is left then.
  return issue.message.endsWith('received undefined') || ('input' in issue && issue.input === undefined);
}

function isNull(issue: z.core.$ZodIssue): boolean {
  return (issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === null;
}

const IS_REQUIRED = 'is required';

function describeIssue(issue: z.core.$ZodIssue): string {
  if (isMissing(issue)) return defaultOr(issue, IS_REQUIRED);
  switch (issue.code) {
    case 'invalid_type':
      return defaultOr(issue, `must be ${article(issue.expected)}`);
    case 'invalid_value':
      // GraphQL refuses any other value itself, and spells those that are allowed in another way.
      if (isNull(issue)) return 'must not be null';
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
