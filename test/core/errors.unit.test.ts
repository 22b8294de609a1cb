import { describe, expect, test } from 'vitest';
import {
  CODE_OF,
  ConflictError,
  DomainError,
  type ErrorKind,
  ForbiddenError,
  NotFoundError,
  RemoteFailedError,
  STATUS_OF,
  ValidationError,
  invalid,
  notFound,
  relocated,
  unauthenticated,
} from '../../src/core/errors.ts';
import { keysOf } from '../../src/core/keys-of.ts';
import { wording } from '../../src/core/text/wording.ts';

const BOTH = wording`must not be ${{ rest: 'inProgress', graphql: 'IN_PROGRESS' }}`;

test.each(keysOf(STATUS_OF))(
  'an error of the kind %s has its status, its code, and one fault with that code',
  (kind: ErrorKind) => {
    const error = new DomainError(kind, 'is bad');
    expect([error.status, error.code]).toEqual([STATUS_OF[kind], CODE_OF[kind]]);
    expect(error).toMatchObject({
      name: 'DomainError',
      message: 'is bad',
      graphqlMessage: 'is bad',
      inputPath: [],
      headers: {},
      faults: [{ path: [], code: CODE_OF[kind], message: 'is bad' }],
    });
  },
);

test('an error has the path, the headers and the cause that it was given', () => {
  const cause = new Error('below');
  const error = new DomainError('conflict', BOTH, { path: ['a', 'b'], headers: { Allow: 'GET' }, cause });
  expect(error).toMatchObject({
    message: 'must not be inProgress',
    graphqlMessage: 'must not be IN_PROGRESS',
    inputPath: ['a', 'b'],
    headers: { Allow: 'GET' },
    cause,
    faults: [{ path: ['a', 'b'], code: 'CONFLICT', message: BOTH }],
  });
});

test('a validation error lists all faults in its message, and has the path of the first', () => {
  const faults = [
    { path: ['a', '0'], code: 'NOT_ALLOWED', message: BOTH } as const,
    { path: [], code: 'TOO_MANY', message: 'and 1 more', limit: 100 } as const,
  ];
  expect(new ValidationError(faults)).toMatchObject({
    name: 'ValidationError',
    kind: 'invalid',
    message: 'a.0: must not be inProgress; and 1 more',
    graphqlMessage: 'a.0: must not be IN_PROGRESS; and 1 more',
    inputPath: ['a', '0'],
    faults,
  });
});

test('a thing that is not found has one message, or one fault for each thing that is missing', () => {
  expect(notFound('session')).toMatchObject({
    name: 'NotFoundError',
    kind: 'notFound',
    message: 'session not found',
    inputPath: [],
    faults: [{ path: [], code: 'NOT_FOUND', message: 'session not found' }],
  });
  const faults = [
    { path: ['a'], code: 'NOT_FOUND', message: 'not found' },
    { path: ['b'], code: 'NOT_FOUND', message: 'not found' },
  ];
  const several = { message: 'a: not found; b: not found', inputPath: ['a'], faults };
  expect(new NotFoundError(faults)).toMatchObject(several);
});

test('a conflict has its reason, and its message begins with the field that causes it', () => {
  expect(new ConflictError('NAME_TAKEN', 'is taken', ['a', 'b'])).toMatchObject({
    kind: 'conflict',
    reason: 'NAME_TAKEN',
    message: 'a.b: is taken',
    inputPath: ['a', 'b'],
    faults: [{ path: ['a', 'b'], code: 'NAME_TAKEN', message: 'is taken' }],
  });
  expect(new ConflictError('IN_USE', 'is used')).toMatchObject({ message: 'is used', inputPath: [] });
});

test('the other errors have their kinds', () => {
  const cause = new Error('below');
  expect(new ForbiddenError('no')).toMatchObject({ kind: 'forbidden', message: 'no' });
  expect(new RemoteFailedError('broke', cause)).toMatchObject({ kind: 'remoteFailed', message: 'broke', cause });
  expect(unauthenticated()).toMatchObject({
    kind: 'unauthenticated',
    message: 'missing or invalid API key',
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
  expect(unauthenticated('expired')).toMatchObject({ message: 'expired' });
});

test('the path of a single fault is written with dots', () => {
  expect(invalid('a.b', 'is bad').faults).toEqual([{ path: ['a', 'b'], code: 'NOT_ALLOWED', message: 'is bad' }]);
  expect(invalid('', 'is bad', 'TOO_LONG', 3).faults).toEqual([
    { path: [], code: 'TOO_LONG', message: 'is bad', limit: 3 },
  ]);
});

describe('relocated', () => {
  const under = <Found extends { readonly path: readonly string[] }>(fault: Found) => ({
    ...fault,
    path: ['input', ...fault.path],
  });

  test('every fault of a validation error, and that of a conflict, has its new path', () => {
    const error = new ValidationError([
      { path: ['a'], code: 'REQUIRED', message: 'is required' },
      { path: ['b'], code: 'REQUIRED', message: 'is required' },
    ]);
    expect(relocated(error, under)).toMatchObject({
      name: 'ValidationError',
      message: 'input.a: is required; input.b: is required',
    });
    expect(relocated(new ConflictError('NAME_TAKEN', BOTH, ['name']), under)).toMatchObject({
      name: 'ConflictError',
      reason: 'NAME_TAKEN',
      message: 'input.name: must not be inProgress',
      graphqlMessage: 'input.name: must not be IN_PROGRESS',
    });
  });

  test('any other error is unchanged', () => {
    for (const error of [new Error('x'), new ForbiddenError('no'), 'text']) expect(relocated(error, under)).toBe(error);
  });
});
