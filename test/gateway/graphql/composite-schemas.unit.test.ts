import {
  type ASTNode,
  type GraphQLSchema,
  Kind,
  type TypeDefinitionNode,
  buildSchema,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  parse,
} from 'graphql';
import { expect, test } from 'vitest';
import { contracts } from '../../../src/gateway/print-contracts.ts';

/**
 * The rules of the Composite Schemas draft for source schemas, section 4.1, as far as they concern the directives of this schema:
 * https://graphql.github.io/composite-schemas-spec/draft/#sec-Validate-Source-Schemas
 */
function faultsOf(text: string): string[] {
  const schema = buildSchema(text, { assumeValid: true });
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const used = ['Query', 'Mutation', 'Subscription'].flatMap((name, index) =>
    roots[index]?.name === schema.getType(name)?.name ? [] : [`ROOT_${name.toUpperCase()}_USED`],
  );
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInterfaceType(type));
  const keys = types.flatMap((type) => keysOf(type.astNode).flatMap((key) => keyFaults(schema, type.name, key)));
  const lookups = types
    .flatMap((type) => Object.values(type.getFields()))
    .filter(({ astNode }) => astNode?.directives?.some(({ name }) => name.value === 'lookup'))
    .flatMap(({ type, args }) => [
      ...(isListType(getNullableType(type)) ? ['LOOKUP_RETURNS_LIST'] : []),
      ...(isNonNullType(type) ? ['LOOKUP_RETURNS_NON_NULLABLE_TYPE'] : []),
      // The arguments are the key.
      ...(keysOf(getNamedType(type).astNode).includes(args.map(({ name }) => name).join(' ')) ? [] : ['LOOKUP_NO_KEY']),
    ]);
  return [...used, ...keys, ...lookups];
}

/** The selections of the keys of a type; null for one that is no text. */
function keysOf(node: TypeDefinitionNode | null | undefined): (string | null)[] {
  return (node?.directives ?? [])
    .filter(({ name }) => name.value === 'key')
    .map(({ arguments: [fields] = [] }) => (fields?.value.kind === Kind.STRING ? fields.value.value : null));
}

function keyFaults(schema: GraphQLSchema, typeName: string, key: string | null): string[] {
  if (key === null) return ['KEY_INVALID_FIELDS_TYPE'];
  const faults: string[] = [];
  const check = (name: string, selections: readonly ASTNode[]): void => {
    const type = schema.getType(name);
    for (const each of selections) {
      if (each.kind !== Kind.FIELD) return void faults.push('KEY_INVALID_SYNTAX');
      const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[each.name.value] : undefined;
      if (!field) faults.push('KEY_INVALID_FIELDS');
      else if (field.args.length > 0) faults.push('KEY_FIELDS_HAS_ARGUMENTS');
      else if (
        isListType(getNullableType(field.type)) ||
        isInterfaceType(getNamedType(field.type)) ||
        isUnionType(getNamedType(field.type))
      )
        faults.push('KEY_FIELDS_SELECT_INVALID_TYPE');
      if (each.directives?.length) faults.push('KEY_DIRECTIVE_IN_FIELDS_ARG');
      if (field && each.selectionSet) check(getNamedType(field.type).name, each.selectionSet.selections);
    }
  };
  try {
    const [document] = parse(`{ ${key} }`).definitions;
    if (document?.kind === Kind.OPERATION_DEFINITION) check(typeName, document.selectionSet.selections);
  } catch {
    faults.push('KEY_INVALID_SYNTAX');
  }
  return faults;
}

test('a gateway of several GraphQL services can take this schema as a source', () => {
  expect(faultsOf(contracts['schema.graphql']())).toEqual([]);
});

const DIRECTIVES =
  'directive @key(fields: String!) repeatable on INTERFACE | OBJECT directive @lookup on FIELD_DEFINITION';
const KEYED = 'type A @key(fields: "id") { id: ID! }';

test.each([
  ['ROOT_MUTATION_USED', `type Query { a: Mutation } type Mutation { a: ID } schema { query: Query }`],
  ['KEY_INVALID_FIELDS_TYPE', 'type Query { a: A } type A @key(fields: 1) { id: ID! }'],
  ['KEY_INVALID_SYNTAX', 'type Query { a: A } type A @key(fields: "id {") { id: ID! }'],
  ['KEY_INVALID_FIELDS', 'type Query { a: A } type A @key(fields: "name") { id: ID! }'],
  ['KEY_FIELDS_HAS_ARGUMENTS', 'type Query { a: A } type A @key(fields: "id") { id(of: ID): ID! }'],
  ['KEY_FIELDS_SELECT_INVALID_TYPE', 'type Query { a: A } type A @key(fields: "id") { id: [ID!]! }'],
  ['KEY_DIRECTIVE_IN_FIELDS_ARG', 'type Query { a: A } type A @key(fields: "id @skip(if: true)") { id: ID! }'],
  ['LOOKUP_RETURNS_LIST', `type Query { a(id: ID!): [A!] @lookup } ${KEYED}`],
  ['LOOKUP_RETURNS_NON_NULLABLE_TYPE', `type Query { a(id: ID!): A! @lookup } ${KEYED}`],
  ['LOOKUP_NO_KEY', `type Query { a(name: ID!): A @lookup } ${KEYED}`],
])('%s is found in a schema that breaks it', (code, text) => {
  expect(faultsOf(`${text} ${DIRECTIVES}`)).toEqual([code]);
});
