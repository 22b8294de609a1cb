import { GraphQLError, buildSchema, executeSync, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { withoutFoundValue } from '../../../src/gateway/graphql/errors.ts';

/** A word that occurs in no message of graphql. */
const SECRET = 'hunter2';

const TYPES = ['Int', 'Float', 'String', 'Boolean', 'ID', 'Color', 'Box', 'One', '[Int!]', '[Box!]'];

const schema = buildSchema(`
  enum Color { RED }
  input Box { int: Int, color: Color, inner: Box, list: [Int!], needed: Int! }
  input One @oneOf { int: Int, text: String }
  type Query { ${TYPES.map((type, index) => `field${index}(value: ${type}!): Int`).join(' ')} }
`);

const VALUES: readonly unknown[] = [
  SECRET,
  [SECRET],
  { [SECRET]: 1 },
  { int: SECRET, needed: 1 },
  { color: SECRET, needed: 1 },
  { list: [1, SECRET], needed: 1 },
  { inner: { int: SECRET }, needed: SECRET },
  { unknown: { deep: SECRET }, needed: 1 },
  { needed: null, text: SECRET, int: SECRET },
];

/** A value as GraphQL writes it in a document, its names unquoted. */
function literal(value: unknown): string {
  return JSON.stringify(value).replace(/"(\w+)":/g, '$1:');
}

function errorsOfVariables(): readonly GraphQLError[] {
  return TYPES.flatMap((type, index) => {
    const document = parse(`query ($value: ${type}!) { field${index}(value: $value) }`);
    return VALUES.flatMap((value) => executeSync({ schema, document, variableValues: { value } }).errors ?? []);
  });
}

function errorsOfLiterals(): readonly GraphQLError[] {
  const enumValue = literal(VALUES).replaceAll(`"${SECRET}"`, SECRET);
  const literals = [...VALUES.map(literal), enumValue];
  return TYPES.flatMap((_, index) =>
    literals.flatMap((value) => validate(schema, parse(`{ field${index}(value: ${value}) }`))),
  );
}

function errorsOfSyntax(): readonly GraphQLError[] {
  const documents = [`"${SECRET}"`, `{ a(b: "c") "${SECRET}" }`, `{ a """${SECRET}""" }`, `query "${SECRET}"`];
  return documents.map((text) => {
    try {
      parse(text);
    } catch (error) {
      if (error instanceof GraphQLError) return error;
    }
    throw new Error(`${text} was parsed`);
  });
}

/**
 * The messages of graphql are recognized by their wording. If this fails after an update of graphql, change `FOUND` in
 * src/gateway/graphql/errors.ts. Unknown names of fields may be shown; values may not.
 */
test.each([
  ['variables', errorsOfVariables],
  ['literals', errorsOfLiterals],
  ['syntax errors', errorsOfSyntax],
])('errors of %s contain no value of the caller, although those of graphql do', (_, errorsOf) => {
  const errors = errorsOf();
  const shown = errors.filter(({ message }) => message.includes(`"${SECRET}`));
  expect(shown.length).toBeGreaterThan(0);
  const left = errors.map((error) => withoutFoundValue(error).message);
  expect(left.filter((message) => message.includes(SECRET) && !message.includes(`field "${SECRET}"`))).toEqual([]);
});
