// The bounds of the texts that the console's forms send, generated from the input types. `npm run contracts` writes them, and a test compares them.
import {
  type GraphQLInputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  parse,
} from 'graphql';

type Bounds = Record<string, number>;

/** The text of `src/console/generated/text-bounds.ts`. */
export function consoleBounds(schema: GraphQLSchema, operations: Readonly<Record<string, string>>): string {
  const found = Object.entries(operations).flatMap(([name, text]) => {
    const bounds = Object.assign({}, ...parse(text).definitions.map((each) => boundsIn(schema, each))) as Bounds;
    return Object.keys(bounds).length > 0 ? [[name, bounds] as const] : [];
  });
  const lines = found.map(([name, bounds]) => {
    const entries = Object.entries(bounds).map(([path, max]) => `${path.includes('.') ? `'${path}'` : path}: ${max}`);
    return `  ${name}: { ${entries.join(', ')} },`;
  });
  return `// Written by \`npm run contracts\` from the input types and operations.ts.\n
/** How many characters the texts of each mutation may have, by their position in the input or by their variable. */
export const TEXT_BOUNDS = {\n${lines.join('\n')}\n} as const;\n`;
}

function boundsIn(schema: GraphQLSchema, definition: object): Bounds {
  const { kind, operation, selectionSet } = definition as OperationDefinitionNode;
  const mutation = schema.getMutationType();
  if (kind !== Kind.OPERATION_DEFINITION || operation !== 'mutation' || !mutation) return {};
  const bounds: Bounds = {};
  for (const selection of selectionSet.selections) {
    if (selection.kind !== Kind.FIELD) continue;
    const args = schema.getField(mutation, selection.name.value)?.args ?? [];
    for (const { name, value } of selection.arguments ?? []) {
      const type = args.find((each) => each.name === name.value)?.type;
      if (type) addBounds(bounds, { type, value, max: undefined });
    }
  }
  return bounds;
}

interface Given {
  readonly type: GraphQLInputType;
  readonly value: ValueNode;
  /** The bound of the text that the value is. */
  readonly max: number | undefined;
}

function addBounds(bounds: Bounds, { type, value, max }: Given): void {
  const named = getNamedType(type);
  if (value.kind === Kind.VARIABLE) {
    if (isInputObjectType(named)) addFields(bounds, named, '');
    else if (max !== undefined) bounds[value.name.value] = max;
  }
  if (value.kind !== Kind.OBJECT || !isInputObjectType(named)) return;
  const fields = named.getFields();
  for (const given of value.fields) {
    const field = fields[given.name.value];
    if (field) addBounds(bounds, { type: field.type, value: given.value, max: maxOf(field.extensions) });
  }
}

/** The texts of an object, and of objects in it. Lists have no fields of their own. */
function addFields(bounds: Bounds, type: GraphQLInputType, before: string): void {
  if (!isInputObjectType(type)) return;
  for (const { name, type: given, extensions } of Object.values(type.getFields())) {
    const max = maxOf(extensions);
    const value = isNonNullType(given) ? given.ofType : given;
    if (max !== undefined) bounds[before + name] = max;
    else if (!isListType(value)) addFields(bounds, value, `${before}${name}.`);
  }
}

const maxOf = ({ maxLength }: Readonly<Record<string, unknown>>): number | undefined =>
  typeof maxLength === 'number' ? maxLength : undefined;
