import { expect, test } from 'vitest';
import { argumentsIn, readArguments } from '../../src/console/mcp-connections/tool-arguments.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'What to find.' },
    count: { type: 'integer', default: 10 },
    exact: { type: 'boolean' },
    order: { type: 'string', enum: ['new', 'old'] },
    filter: { type: 'object' },
  },
  required: ['query', 'order'],
};

test('each property is a field of its type, with its default; optional choices can be left out', () => {
  const shared = { isRequired: false, help: '' };
  const optional = [['', 'Not given']];
  expect(argumentsIn(SCHEMA)).toEqual([
    { field: 'arguments.query', name: 'query', kind: 'string', isRequired: true, help: 'What to find.', initial: '' },
    { ...shared, field: 'arguments.count', name: 'count', kind: 'number', initial: '10' },
    {
      ...shared,
      field: 'arguments.exact',
      name: 'exact',
      kind: 'boolean',
      initial: '',
      choices: [...optional, ['true', 'true'], ['false', 'false']],
    },
    {
      ...shared,
      field: 'arguments.order',
      name: 'order',
      kind: 'choice',
      isRequired: true,
      initial: 'new',
      choices: [
        ['new', 'new'],
        ['old', 'old'],
      ],
    },
    { ...shared, field: 'arguments.filter', name: 'filter', kind: 'json', help: '(object)', initial: '' },
  ]);
});

test('values become arguments of the types of the schema; empty ones are left out', () => {
  const args = argumentsIn(SCHEMA);
  const given = {
    'arguments.query': '',
    'arguments.count': '3',
    'arguments.exact': 'false',
    'arguments.order': 'old',
    'arguments.filter': '{"a":[1]}',
  };
  expect(readArguments(args, given)).toEqual({
    value: { query: '', count: 3, exact: false, order: 'old', filter: { a: [1] } },
  });
  expect(
    readArguments(args, { ...given, 'arguments.count': '', 'arguments.filter': '', 'arguments.exact': '' }),
  ).toEqual({
    value: { query: '', order: 'old' },
  });
  expect(readArguments(args, { ...given, 'arguments.count': 'many' })).toEqual({ fault: 'count: must be a number' });
  expect(readArguments(args, { ...given, 'arguments.filter': '{' })).toEqual({ fault: 'filter: must be JSON' });
});

test.each([
  ['no object', 'text'],
  ['alternatives', { type: 'object', oneOf: [{}] }],
  ['odd properties', { type: 'object', properties: [] }],
  ['nothing said', {}],
  [
    'too many',
    { type: 'object', properties: Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`p${at}`, {}])) },
  ],
])('a schema with %s is answered with JSON', (_, schema) => {
  expect(argumentsIn(schema)).toBeUndefined();
  expect(readArguments(undefined, { arguments: '{"a":1}' })).toEqual({ value: { a: 1 } });
  expect(readArguments(undefined, { arguments: '[1]' })).toEqual({ fault: 'The arguments must be a JSON object.' });
});
