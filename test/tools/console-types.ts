// The types of the console's operations, generated from the published schema. `npm run contracts` writes them, and a test compares them.
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  typeFromAST,
  validate,
} from 'graphql';

/** Types whose `databaseId` is a number. */
const NUMBERED = new Set(['SessionEvent', 'FeedEntry']);

const SCALARS: Readonly<Record<string, string>> = {
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  JSON: 'unknown',
  BigInt: 'string | number',
};

/** The text of `src/console/generated/operation-types.ts`. @throws Error naming an operation that is not valid for the schema. */
export function consoleTypes(schema: GraphQLSchema, operations: Readonly<Record<string, string>>): string {
  const variables: string[] = [];
  const answers: string[] = [];
  for (const [name, text] of Object.entries(operations)) {
    const document = parse(text);
    const faults = validate(schema, document);
    if (faults.length > 0)
      throw new Error(`src/console/parts/operations.ts, ${name}: ${faults.map(({ message }) => message).join('; ')}`);
    for (const definition of document.definitions) {
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      variables.push(`  readonly ${name}: ${variablesType(schema, definition)};`);
      const root = schema.getRootType(definition.operation);
      if (root) answers.push(`  readonly ${name}: ${objectType(schema, root, [definition.selectionSet])};`);
    }
  }
  return `// Written by \`npm run contracts\` from schema.graphql and operations.ts.\n
export interface Variables {\n${variables.join('\n')}\n}\n
export interface Answers {\n${answers.join('\n')}\n}\n`;
}

function variablesType(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode): string {
  const fields = variableDefinitions.map(({ variable, type, defaultValue }) => {
    const found = typeFromAST(schema, type);
    if (!found) throw new Error(`unknown type of $${variable.name.value}`);
    const isOptional = !isNonNullType(found) || defaultValue !== undefined;
    return `readonly ${variable.name.value}${isOptional ? '?' : ''}: ${valueType(found)}`;
  });
  return `{ ${fields.join('; ')} }`;
}

/** The TypeScript type of an input or leaf. */
function valueType(type: GraphQLType): string {
  if (isNonNullType(type)) return present(type.ofType);
  return orNull(present(type));
}

/** `unknown` includes null. */
function orNull(type: string): string {
  return type === 'unknown' ? type : `${type} | null`;
}

function present(type: GraphQLType): string {
  if (isListType(type)) return `readonly (${valueType(type.ofType)})[]`;
  if (isEnumType(type))
    return type
      .getValues()
      .map(({ name }) => `'${name}'`)
      .join(' | ');
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).map(
      (field) =>
        `readonly ${field.name}${isNonNullType(field.type) && field.defaultValue === undefined ? '' : '?'}: ${valueType(field.type)}`,
    );
    return `{ ${fields.join('; ')} }`;
  }
  return SCALARS[getNamedType(type).name] ?? 'string';
}

function outputType(schema: GraphQLSchema, type: GraphQLOutputType, selections: readonly SelectionSetNode[]): string {
  if (isNonNullType(type)) return presentOutput(schema, type.ofType, selections);
  return orNull(presentOutput(schema, type, selections));
}

function presentOutput(
  schema: GraphQLSchema,
  type: GraphQLOutputType,
  selections: readonly SelectionSetNode[],
): string {
  if (isListType(type)) return `readonly (${outputType(schema, type.ofType, selections)})[]`;
  if (isObjectType(type)) return objectType(schema, type, selections);
  if (isAbstractType(type)) {
    const members = schema.getPossibleTypes(type).map((member) => objectType(schema, member, selections));
    return `(${[...new Set(members)].join(' | ')})`;
  }
  return present(type);
}

function objectType(schema: GraphQLSchema, type: GraphQLObjectType, selections: readonly SelectionSetNode[]): string {
  const fields = Map.groupBy(
    selections.flatMap((selection) => fieldsOf(schema, type, selection)),
    ({ name, alias }) => (alias ?? name).value,
  );
  const lines = [...fields].map(([response, [first, ...others]]) => {
    if (!first) return '';
    if (first.name.value === '__typename') return `readonly ${response}: '${type.name}'`;
    const field = schema.getField(type, first.name.value);
    if (!field) throw new Error(`${type.name} has no field ${first.name.value}`);
    if (field.name === 'databaseId') return `readonly ${response}: ${NUMBERED.has(type.name) ? 'number' : 'string'}`;
    const below = [first, ...others].flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []));
    return `readonly ${response}: ${outputType(schema, field.type, below)}`;
  });
  return `{ ${lines.join('; ')} }`;
}

/** The fields that are selected of objects of a type. */
function fieldsOf(schema: GraphQLSchema, type: GraphQLObjectType, { selections }: SelectionSetNode): FieldNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    if (selection.kind === Kind.FRAGMENT_SPREAD) throw new Error('operations of the console use inline fragments only');
    return applies(schema, type, selection.typeCondition) ? fieldsOf(schema, type, selection.selectionSet) : [];
  });
}

function applies(
  schema: GraphQLSchema,
  type: GraphQLObjectType,
  condition: FragmentDefinitionNode['typeCondition'] | undefined,
): boolean {
  const wanted = condition && schema.getType(condition.name.value);
  if (!wanted || wanted === type) return true;
  return isAbstractType(wanted) && schema.isSubType(wanted, type);
}
