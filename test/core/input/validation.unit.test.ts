import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Fault, ValidationError } from '../../../src/core/errors.ts';
import { inRest, wording } from '../../../src/core/text/wording.ts';
import {
  emailAddress,
  httpUri,
  idSchema,
  isLongerThan,
  isStorable,
  keyRule,
  optional,
  parseInput,
  rule,
  text,
  toValidationError,
  withDefault,
} from '../../../src/core/input/validation.ts';

/** Each fault as `path code: message`. */
function faultsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ValidationError) return error.faults.map(line);
    throw error;
  }
  return [];
}
const line = ({ path, code, message }: Fault) => `${path.join('.')} ${code}: ${inRest(message)}`;
const faults = (schema: z.ZodType, field: unknown) =>
  faultsOf(() => parseInput(z.object({ field: schema }), { field }));

describe('parseInput', () => {
  test('returns valid input as transformed by the schema', () => {
    const schema = z.strictObject({ count: z.string().transform(Number) });
    expect(parseInput(schema, { count: '7' })).toEqual({ count: 7 });
  });

  test('the message contains every invalid field and its rule, and the error has the path of the first field', () => {
    const schema = z.strictObject({ a: z.string(), b: z.object({ c: z.array(z.int()) }) });
    const parsing = () => parseInput(schema, { b: { c: [1, 'x'] }, d: 1 });
    expect(parsing).toThrow(
      expect.objectContaining({
        name: 'ValidationError',
        kind: 'invalid',
        message: 'a: is required; b.c.1: must be a number; d: is not a known property',
        inputPath: ['a'],
        faults: [
          { path: ['a'], code: 'REQUIRED', message: 'is required' },
          { path: ['b', 'c', '1'], code: 'WRONG_TYPE', message: 'must be a number' },
          { path: ['d'], code: 'UNKNOWN_FIELD', message: 'is not a known property' },
        ],
      }),
    );
  });

  test('reports up to 20 faults, and the number of further faults', () => {
    const list = z.array(z.string());
    const numbers = (length: number) => Array.from({ length }, () => 1);
    const each = (length: number) => Array.from({ length }, (_, index) => `${index} WRONG_TYPE: must be a string`);
    expect(faultsOf(() => parseInput(list, numbers(20)))).toEqual(each(20));
    expect(faultsOf(() => parseInput(list, numbers(21)))).toEqual([...each(20), ' TOO_MANY: and 1 more']);
    expect(faultsOf(() => parseInput(list, numbers(350)))).toEqual([...each(20), ' TOO_MANY: and 330 more']);
  });
});

test('the name of the root is removed once from the beginning of each path', () => {
  const issue = (...path: string[]) => ({ code: 'custom', path, message: 'is bad' });
  const issues = [issue('input', 'a'), issue('input', 'input'), issue('a', 'input'), issue('b')];
  expect(toValidationError(issues, 'input').faults.map(line)).toEqual([
    'a NOT_ALLOWED: is bad',
    'input NOT_ALLOWED: is bad',
    'a.input NOT_ALLOWED: is bad',
    'b NOT_ALLOWED: is bad',
  ]);
  expect(toValidationError([issue('input', 'a')]).faults.map(line)).toEqual(['input.a NOT_ALLOWED: is bad']);
});

describe('a rule of our own', () => {
  const broken = (...given: Parameters<typeof rule>) => z.unknown().refine(() => false, rule(...given));
  const faultOf = (schema: z.ZodType, value: unknown): Fault | undefined => {
    const result = schema.safeParse(value, { reportInput: true });
    return toValidationError(result.error?.issues ?? []).faults[0];
  };

  test('has its code, its limit, and its message for each API', () => {
    const message = wording`must not be ${{ rest: 'inProgress', graphql: 'IN_PROGRESS' }}`;
    expect(faultOf(broken('TOO_MANY', message, 7), 'x')).toEqual({
      path: [],
      code: 'TOO_MANY',
      limit: 7,
      message: { rest: 'must not be inProgress', graphql: 'must not be IN_PROGRESS' },
    });
  });

  test.each([undefined, null])('keeps its code and message for %s', (value) => {
    expect(faultOf(broken('CONFLICTING', 'is bad'), value)).toEqual({
      path: [],
      code: 'CONFLICTING',
      message: 'is bad',
    });
  });

  test('for a key has that key, and the path of its value', () => {
    const schema = z.unknown().superRefine((_, context) => {
      context.addIssue({ code: 'custom', path: ['headers', 'Te'], ...keyRule('Te', 'DUPLICATE', 'is given twice') });
    });
    expect(faultOf(schema, {})).toEqual({
      path: ['headers', 'Te'],
      key: 'Te',
      code: 'DUPLICATE',
      message: 'is given twice',
    });
  });
});

test('a missing field is also required if its issue was copied from another schema, and has lost its value', () => {
  const inner = z.object({ a: z.string(), b: z.string() });
  const outer = z.unknown().transform((value, context) => {
    for (const issue of inner.safeParse(value).error?.issues ?? []) context.addIssue({ ...issue });
    return value;
  });
  expect(faults(outer, { b: 1 })).toEqual(['field.a REQUIRED: is required', 'field.b WRONG_TYPE: must be a string']);
});

test('a fault of a key has the key, and the limit that it exceeds', () => {
  const schema = z.array(z.object({ a: z.record(z.string().max(1), z.int()) }));
  const fault = { key: 'bb', code: 'TOO_LONG', limit: 1, message: 'a key must be at most 1 character' };
  expect(() => parseInput(schema, [{ a: { bb: 1 } }])).toThrow(
    expect.objectContaining({ faults: [{ path: ['0', 'a'], ...fault }] }),
  );
});

test('an id is a UUID, of the given form if there is one', () => {
  const id = '0190C2A4-0000-7000-8000-000000000001';
  expect(faults(idSchema(), 'x')).toEqual(['field BAD_FORMAT: must be a UUID']);
  expect(parseInput(idSchema(), id)).toBe(id);
  expect(parseInput(idSchema(z.uuid().toLowerCase()), id)).toBe(id.toLowerCase());
});

test('an issue without a code has the code `NOT_ALLOWED`', () => {
  const inner = { path: [], message: 'is bad' };
  expect(toValidationError([{ path: ['a'], message: 'is bad' }]).faults.map(line)).toEqual(['a NOT_ALLOWED: is bad']);
  expect(toValidationError([{ code: 'invalid_key', path: ['a', 'b'], issues: [inner] }]).faults.map(line)).toEqual([
    'a NOT_ALLOWED: a key is bad',
  ]);
});

describe('the fault for every kind of issue contains the field and the limit', () => {
  const OWN = 'has our message';
  test.for<[string, z.ZodType, unknown, string[]]>([
    ['missing', z.string(), undefined, ['field REQUIRED: is required']],
    ['missing, though the rule has a message', z.string(OWN), undefined, [`field REQUIRED: ${OWN}`]],
    ['null', z.string(), null, ['field REQUIRED: must be a string']],
    ['one of, null', z.enum(['a', 'b']), null, ['field REQUIRED: must not be null']],
    ['another type', z.string(), 1, ['field WRONG_TYPE: must be a string']],
    ['another type, own message', z.string(OWN), 1, [`field WRONG_TYPE: ${OWN}`]],
    ['an integer', z.int(), 1.5, ['field WRONG_TYPE: must be an integer']],
    ['an array', z.array(z.string()), {}, ['field WRONG_TYPE: must be an array']],
    ['an object', z.object({}), [], ['field WRONG_TYPE: must be an object']],
    ['a record', z.record(z.string(), z.string()), 'x', ['field WRONG_TYPE: must be an object']],
    ['a boolean', z.boolean(), 'true', ['field WRONG_TYPE: must be a boolean']],
    ['one of', z.enum(['a', 'b']), 'c', ['field NOT_ALLOWED: must be one of "a", "b"']],
    ['one of, missing', z.enum(['a', 'b']), undefined, ['field REQUIRED: is required']],
    ['literals', z.literal([1, 'b', null]), 'c', ['field NOT_ALLOWED: must be one of 1, "b", null']],
    ['a long list', z.array(z.int()).max(1), [1, 2], ['field TOO_MANY: must have at most 1 item']],
    ['a short list', z.array(z.int()).min(2), [1], ['field TOO_FEW: must have at least 2 items']],
    ['a long list, own message', z.array(z.int()).max(1, OWN), [1, 2], [`field TOO_MANY: ${OWN}`]],
    ['a short list, own message', z.array(z.int()).min(1, OWN), [], [`field TOO_FEW: ${OWN}`]],
    ['a long text', z.string().max(2), 'abc', ['field TOO_LONG: must be at most 2 characters']],
    ['a short text', z.string().min(2), 'a', ['field TOO_SHORT: must be at least 2 characters']],
    ['a long text, own message', z.string().max(2, OWN), 'abc', [`field TOO_LONG: ${OWN}`]],
    ['a short text, own message', z.string().min(2, OWN), 'a', [`field TOO_SHORT: ${OWN}`]],
    ['a big number', z.number().max(2), 3, ['field TOO_LARGE: must be at most 2']],
    ['a small number', z.number().min(2), 1, ['field TOO_SMALL: must be at least 2']],
    ['a UUID', z.uuid(), 'x', ['field BAD_FORMAT: must be a UUID']],
    ['a UUID, own message', z.uuid(OWN), 'x', [`field BAD_FORMAT: ${OWN}`]],
    ['another format', z.email(), 'x', ['field BAD_FORMAT: must be a valid email']],
    ['another format, own message', z.string().regex(/^a$/, OWN), 'x', [`field BAD_FORMAT: ${OWN}`]],
    ['a message with a capital', z.email('URL expected'), 'x', ['field BAD_FORMAT: URL expected']],
    [
      'a shape without a known kind',
      z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') })]),
      {},
      ['field.kind NOT_ALLOWED: must have a known kind'],
    ],
    ['no shape', z.union([z.string(), z.int()]), true, ['field NOT_ALLOWED: has none of the allowed shapes']],
    ['no shape, own message', z.union([z.string(), z.int()], OWN), true, [`field NOT_ALLOWED: ${OWN}`]],
    [
      'an unknown kind',
      z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]),
      { kind: 'c' },
      ['field.kind NOT_ALLOWED: must have a known kind'],
    ],
    [
      'unknown properties, each alone, with what is meant unless it is given',
      z.strictObject({ projectId: z.int(), title: z.int().optional(), id: z.int().optional() }),
      { Project_id: 1, titel: 2, at: 3, projectId: 4 },
      [
        'field.Project_id UNKNOWN_FIELD: is not a known property',
        'field.titel UNKNOWN_FIELD: is not a known property; did you mean title?',
        'field.at UNKNOWN_FIELD: is not a known property',
      ],
    ],
    ['unknown, own message', z.strictObject({}, OWN), { a: 1 }, [`field.a UNKNOWN_FIELD: ${OWN}`]],
    [
      'a bad key is a fault of its object',
      z.record(z.string().max(1).regex(/^a/, 'must begin with a'), z.int()),
      { bb: 1 },
      ['field TOO_LONG: a key must be at most 1 character', 'field BAD_FORMAT: a key must begin with a'],
    ],
    [
      'a bad key far within',
      z.array(z.record(z.uuid(), z.int())),
      [{ b: 1 }],
      ['field.0 BAD_FORMAT: a key must be a UUID'],
    ],
    ['a rule of our own', z.string().refine(() => false, OWN), 'x', [`field NOT_ALLOWED: ${OWN}`]],
  ])('%s', ([, schema, value, expected]) => {
    expect(faults(schema, value)).toEqual(expected);
  });
});

describe('null and absent', () => {
  test('optional: null is treated as absent, falsy values are kept, and other values are validated', () => {
    const schema = z.object({ a: optional(z.union([z.string().max(2), z.int(), z.boolean()])) });
    expect(parseInput(schema, {})).toEqual({});
    expect(parseInput(schema, { a: null })).toEqual({ a: undefined });
    for (const a of ['', 0, false, 'ab']) expect(parseInput(schema, { a })).toEqual({ a });
    expect(faults(optional(z.string().max(2)), 'abc')).toEqual(['field TOO_LONG: must be at most 2 characters']);
  });

  test('withDefault: null and absent become the default, falsy values are kept, and other values are validated', () => {
    const schema = z.object({ a: withDefault(z.union([z.string().max(2), z.int(), z.boolean()]), 'x') });
    expect(parseInput(schema, {})).toEqual({ a: 'x' });
    expect(parseInput(schema, { a: null })).toEqual({ a: 'x' });
    for (const a of ['', 0, false, 'ab']) expect(parseInput(schema, { a })).toEqual({ a });
    expect(faults(withDefault(z.string().max(2), 'x'), 'abc')).toEqual([
      'field TOO_LONG: must be at most 2 characters',
    ]);
  });
});

describe('text', () => {
  const EMOJI = '👍';

  test('the limits are inclusive, and without a minimum an empty text is valid', () => {
    for (const value of ['ab', 'abc']) expect(faults(text({ min: 2, max: 3 }), value)).toEqual([]);
    expect(faults(text({ max: 3 }), '')).toEqual([]);
    expect(faults(text({ min: 2, max: 3 }), 'a')).toEqual(['field TOO_SHORT: must be at least 2 characters']);
    expect(faults(text({ min: 1, max: 3 }), '')).toEqual(['field TOO_SHORT: must not be empty']);
    expect(faults(text({ min: 1, max: 3 }), 'abcd')).toEqual(['field TOO_LONG: must be at most 3 characters']);
  });

  test('NUL and lone surrogates are refused, because PostgreSQL cannot store them as text', () => {
    for (const value of ['', 'a', EMOJI, '\u0001']) expect(isStorable(value)).toBe(true);
    for (const value of ['\0', 'a\0b', '\ud83d', 'a\udc4d']) {
      expect(isStorable(value)).toBe(false);
      expect(faults(text({ max: 9 }), value)).toEqual([
        'field BAD_FORMAT: must be well-formed text without NUL characters',
      ]);
    }
  });

  test('length is counted in code points', () => {
    expect(isLongerThan('abc', 3)).toBe(false);
    expect(isLongerThan('abcd', 3)).toBe(true);
    expect(isLongerThan(EMOJI.repeat(3), 3)).toBe(false);
    expect(isLongerThan(`${EMOJI.repeat(2)}ab`, 3)).toBe(true);
    expect(isLongerThan(EMOJI.repeat(4), 3)).toBe(true);
    expect(isLongerThan('', 0)).toBe(false);
  });
});

test('an e-mail address has up to 254 characters, and its case is ignored', () => {
  const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(6)}.org`;
  expect(long).toHaveLength(254);
  expect(parseInput(emailAddress(), long)).toBe(long);
  expect(parseInput(emailAddress(), 'Ann@Example.COM')).toBe('ann@example.com');
  expect(faults(emailAddress(), 'ann')).toEqual(['field BAD_FORMAT: must be an e-mail address']);
  expect(faults(emailAddress(), `a${long}`)).toEqual(['field TOO_LONG: must be at most 254 characters']);
});

describe('httpUri', () => {
  const NOT_HTTP = 'field BAD_FORMAT: must be an http or https URL';
  const USER = 'field BAD_FORMAT: must not contain user information';
  const NOT_URI =
    'field BAD_FORMAT: must be a URI (RFC 3986): begin with https:// or http://, and have other characters than its own percent-encoded';

  test.for([
    'http://a',
    'https://example.com',
    'HTTPS://EXAMPLE.COM/',
    'https://[::1]:8080/a',
    'https://example.com/@a:b',
    'https://example.com?to=//me@example.com',
    'https://example.com/#//me@example.com',
    "https://example.com/-._~:/?#[]@!$&'()*+,;=%4a%B0",
  ])('%s is accepted unchanged', (uri) => {
    expect(parseInput(httpUri({ max: 100 }), uri)).toBe(uri);
  });

  test.for<[string, string[]]>([
    ['', ['field TOO_SHORT: must not be empty']],
    ['example.com', [NOT_HTTP]],
    ['ftp://example.com/', [NOT_HTTP]],
    ['ftp://me@example.com/ a', [NOT_HTTP]],
    ['https://', [NOT_HTTP]],
    ['https://me@example.com/', [USER]],
    ['https://me:secret@example.com/', [USER]],
    ['https://a@b@example.com/', [USER]],
    ['https://@example.com/', [USER]],
    ['https:example.com', [NOT_URI]],
    ['https:/example.com', [NOT_URI]],
    ['https:///example.com', [NOT_URI]],
    ['https://example.com/a b', [NOT_URI]],
    [' https://example.com/', [NOT_URI]],
    ['https://example.com/\n', [NOT_URI]],
    ['https://example.com/%', [NOT_URI]],
    ['https://example.com/%4', [NOT_URI]],
    ['https://example.com/%4g', [NOT_URI]],
    ['https://example.com/%g4', [NOT_URI]],
    ['https://exämple.com/', [NOT_URI]],
    ['https://example.com/\0', ['field BAD_FORMAT: must be well-formed text without NUL characters', NOT_URI]],
  ])('%j is refused', ([uri, expected]) => {
    expect(faults(httpUri({ max: 100 }), uri)).toEqual(expected);
  });

  test('has a maximum length and the format `uri`', () => {
    expect(faults(httpUri({ max: 8 }), 'http://a')).toEqual([]);
    expect(faults(httpUri({ max: 8 }), 'http://ab')).toEqual(['field TOO_LONG: must be at most 8 characters']);
    expect(httpUri({ max: 8 }).meta()).toEqual({ format: 'uri' });
  });
});

test('an empty text has one fault, whatever else it would have to be, and does not hide those of others', () => {
  const named = text({ min: 1, max: 5 }).regex(/^[a-z]+$/, 'must be letters');
  const schema = z.strictObject({ url: httpUri({ max: 100 }), names: z.array(named), other: named });
  expect(faultsOf(() => parseInput(schema, { url: '', names: ['', 'A'], other: 'A' }))).toEqual([
    'url TOO_SHORT: must not be empty',
    'names.0 TOO_SHORT: must not be empty',
    'names.1 BAD_FORMAT: must be letters',
    'other BAD_FORMAT: must be letters',
  ]);
});
