import { z } from 'zod';
import { isExactNumber } from '../text/exact-json.ts';
import { type Message, counted, inRest } from '../text/wording.ts';
import { type InputFault, type InputFaultCode, ValidationError } from '../errors.ts';
import { suggestion } from '../text/suggestion.ts';
import { WORK } from '../work-budget.ts';
import { widthFault } from './shape-bounds.ts';

/**
 * Parses untrusted input with the schema of its operation. For absent keys see `optional`. `added` is the number of properties that the
 * client did not send as such.
 * @throws ValidationError that names every invalid field and its bound.
 */
export function parseInput<Schema extends z.core.$ZodType>(
  schema: Schema,
  input: unknown,
  added = 0,
): z.output<Schema> {
  const fault = widthFault(schema, input, added);
  if (fault) throw new ValidationError([fault]);
  const result = z.safeParse(schema, input, REPORTING);
  if (!result.success) throw toValidationError(result.error.issues);
  return result.data;
}

/** Issues include the value, which distinguishes a missing value from an invalid one. */
const REPORTING = { reportInput: true };

/** Converts issues of zod, or of the Standard Schema interface, to an error; `root` is removed from their paths. */
export function toValidationError(issues: readonly object[], root?: string): ValidationError {
  const faults: InputFault[] = [];
  let unlisted = 0;
  const empty = new Set<string>();
  for (const issue of issues as readonly z.core.$ZodIssue[]) {
    // What else an empty text is not, such as a URL, says nothing more.
    const place = issue.path?.join('\n') ?? '';
    if (empty.has(place)) continue;
    if (issue.code === 'too_small' && issue.input === '') empty.add(place);
    const room = WORK.faults - faults.length;
    // An input can have hundreds of thousands of faults.
    for (const fault of room > 0 ? faultsOf(issue, room) : []) faults.push(withoutRoot(fault, root));
    unlisted += countOf(issue) - Math.min(room, countOf(issue));
  }
  return new ValidationError(faults, unlisted);
}

const withoutRoot = (fault: InputFault, root: string | undefined): InputFault =>
  fault.path[0] === root ? { ...fault, path: fault.path.slice(1) } : fault;

/** The schema of an id, such as `idSchema<SessionId>()`. Only its type differs from that of other UUIDs. */
export const idSchema = <Of extends string>(schema: z.ZodUUID = z.uuid()) =>
  schema as z.ZodUUID & { readonly _zod: { readonly output: Of } };

/** For creation: `null` is the same as absent. */
export function optional<Schema extends z.core.$ZodType>(schema: Schema): Optional<Schema> {
  const value = z.pipe(
    z.nullish(schema),
    z.transform((given) => given ?? undefined),
  );
  return z.optional(value) as z.ZodType as Optional<Schema>;
}

/** Names only the types of the values: the compiler would compare each schema within it wherever the type is used. */
type Optional<Schema extends z.core.$ZodType> = z.ZodType<
  NonNullable<z.output<Schema>> | undefined,
  z.input<Schema> | null | undefined,
  z.core.$ZodTypeInternals<NonNullable<z.output<Schema>> | undefined, z.input<Schema> | null | undefined> & {
    optin: 'optional';
    optout: 'optional';
  }
>;

/** For creation: absent and `null` both mean the default, which is published unless it means the same as absent. */
export function withDefault<Schema extends z.core.$ZodType>(
  schema: Schema,
  value: z.output<Schema>,
): WithDefault<Schema> {
  const input = z.pipe(
    z.nullish(schema),
    z.transform((given) => given ?? value),
  );
  const isNothing = value === null || (Array.isArray(value) && value.length === 0);
  return (isNothing ? input : input.meta({ default: value })) as z.ZodType as WithDefault<Schema>;
}

/** The same for a value with a default. */
type WithDefault<Schema extends z.core.$ZodType> = z.ZodType<
  z.output<Schema>,
  z.input<Schema> | null | undefined,
  z.core.$ZodTypeInternals<z.output<Schema>, z.input<Schema> | null | undefined> & { optin: 'optional' }
>;

/** For free JSON: refuses each number that JavaScript would change, with its path. */
export function refuseExactNumbers(value: unknown, context: z.RefinementCtx, path: readonly string[] = []): void {
  if (isExactNumber(value)) context.addIssue({ code: 'custom', path: [...path], ...rule('NOT_ALLOWED', NOT_EXACT) });
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) refuseExactNumbers(inner, context, [...path, key]);
}

/** Whether PostgreSQL can store it as text and in JSON: no NUL, and no lone surrogate. */
export const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed();

export const NOT_KNOWN = 'is not a known property';
/** Keeps the known properties with the issue, which loses its schema. */
export const notKnown = (issue: z.core.$ZodRawIssue, of = ''): string => {
  issue['shape'] = (issue.inst as z.core.$ZodObject | undefined)?._zod.def.shape;
  return NOT_KNOWN + of;
};
/** For a number of days that is too small: forms send 0 for a text that is no number. */
export const WHOLE_DAYS = 'must be a whole number of days, at least 1';
export const NOT_STORABLE = 'must be well-formed text without NUL characters';

/** Characters are Unicode code points, some of which have two UTF-16 code units. */
export const isLongerThan = (value: string, max: number): boolean =>
  value.length > max && (value.length > 2 * max || Array.from(value).length > max);

/** Bounded text that can be stored. */
export function text(bounds: { min?: number; max: number }) {
  const { min = 0, max } = bounds;
  return z
    .string()
    .min(min, min === 1 ? 'must not be empty' : undefined)
    .max(max)
    .refine(isStorable, rule('BAD_FORMAT', NOT_STORABLE));
}

/** An e-mail address, in lower case: case is ignored. */
export const emailAddress = () =>
  z
    .email('must be an e-mail address')
    .max(254, 'must be at most 254 characters')
    .transform((value) => value.toLowerCase());

/** Characters of a URI (RFC 3986, section 2). URL parsers accept and remove others, such as spaces and line breaks. */
const HTTP_URI = /^https?:\/\/(?![/?#])(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/i;
const USER_INFORMATION = /^[^/?#]*\/\/[^/?#]*@/;

/** An http or https URI with a host and without user information, not normalized. */
export const httpUri = ({ max }: { max: number }) =>
  text({ min: 1, max })
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

const isHttp = (value: string): boolean => URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol);

/** Parameters of an issue for one of our own rules: for `refine` and `addIssue`. */
export const rule = (code: InputFaultCode, message: Message, limit?: number) => ({
  message: inRest(message),
  params: { code, limit, message },
});

/** The same for a key of an object with arbitrary keys. */
export const keyRule = (key: string, code: InputFaultCode, message: string) => ({ message, params: { code, key } });

/** The number of faults that an issue of the schema library means. */
function countOf(issue: z.core.$ZodIssue): number {
  if (issue.code === 'unrecognized_keys') return issue.keys.length;
  return issue.code === 'invalid_key' ? issue.issues.length : 1;
}

/** Converts an issue of the schema library to at most `max` faults with our codes. */
function faultsOf(issue: z.core.$ZodIssue, max: number): InputFault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, max)
      .map((key) => ({ path: [...path, key], code: 'UNKNOWN_FIELD', message: issue.message + meantBy(key, issue) }));
  }
  // An invalid key is a fault of its object.
  if (issue.code === 'invalid_key') {
    return issue.issues.slice(0, max).map((inner) => ({
      path: path.slice(0, -1),
      key: path.at(-1),
      ...ruleOf(inner),
      message: `a key ${inner.message}`,
    }));
  }
  const isInexact = issue.code === 'invalid_type' && isExactNumber(issue.input);
  return [{ path, message: isInexact ? NOT_EXACT : issue.message, ...ruleOf(issue) }];
}

/** Names a property that was not given and is nearly the unknown one. */
export function meantBy(
  key: string,
  { shape, input = {} }: { readonly shape?: unknown; readonly input?: unknown },
): string {
  return suggestion(
    key,
    Object.keys(shape ?? {}).filter((name) => !Object.hasOwn(input ?? {}, name)),
  );
}

/** The broken rule with its bound. */
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
  return origin === 'array' ? 'list' : 'number';
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return false;
  // An issue that was copied from another schema has lost its value.
  return issue.message === IS_REQUIRED || ('input' in issue && issue.input === undefined);
}

const isNull = (issue: { readonly code?: string | undefined; readonly input?: unknown }): boolean =>
  (issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === null;

const IS_REQUIRED = 'is required';
/** The rule for numbers that JavaScript would change. Only the data of recorded events has them. */
export const NOT_EXACT =
  'must be a number that JavaScript can represent exactly: an integer of at most 2^53, or 15 digits';

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  date: 'must be a date, such as 2026-03-01',
  datetime: 'must be an ISO 8601 date and time with an offset, such as 2026-03-01T10:20:30.500Z',
};

/** The messages of zod in this process, where a schema has none of its own. They always name the bound. */
z.config({ customError: messageOf });

function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? IS_REQUIRED : `must be ${article(issue.expected)}`;
    case 'invalid_value':
      if (issue.input === undefined) return IS_REQUIRED;
      // GraphQL itself refuses any other value, and spells the allowed ones differently.
      if (isNull(issue)) return 'must not be null';
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_big':
      return sizeMessage('at most', issue.origin, issue.maximum);
    case 'too_small':
      return sizeMessage('at least', issue.origin, issue.minimum);
    case 'invalid_format':
      return FORMATS[issue.format] ?? `must be a valid ${issue.format}`;
    case 'invalid_union':
      return issue.note === undefined
        ? 'has none of the allowed shapes'
        : `must have a known ${issue.discriminator ?? 'shape'}`;
    case 'unrecognized_keys':
      return notKnown(issue);
    default:
      return undefined;
  }
}

function sizeMessage(bound: string, origin: string, limit: number | bigint): string {
  if (origin === 'array') return `must have ${bound} ${counted(limit, 'item')}`;
  return `must be ${bound} ${origin === 'string' ? counted(limit, 'character') : limit}`;
}

function article(expected: string): string {
  const noun = { int: 'integer', record: 'object' }[expected] ?? expected;
  return /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;
}
