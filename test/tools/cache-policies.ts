// What normalized caches must know of the schema. `npm run contracts` writes it for the examples of docs/clients.md, and a test compares it.
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
} from 'graphql';

const PAGING = new Set(['first', 'after', 'last', 'before']);

/** The text of `docs/examples/clients/cache-policies.ts`. */
export function cachePolicies(schema: GraphQLSchema): string {
  const types = readableTypes(schema).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const embedded = types.filter((type) => type.getFields()['id'] === undefined && !isRoot(schema, type));
  const lists = types.flatMap((type) => {
    const fields = Object.values(type.getFields()).filter(isConnection);
    return fields.length > 0 ? [`  ${type.name}: {\n${fields.map(keyOf).toSorted().join('\n')}\n  },`] : [];
  });
  return `// Written by \`npm run contracts\` from schema.graphql.

/** The lists with pages by type and field, and the arguments that make another list of it, rather than another page. */
export const LISTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {\n${lists.join('\n')}\n};

/** Types whose objects have no \`id\`: they are parts of the object that has them. */
export const TYPES_WITHOUT_ID: readonly string[] = [\n${embedded.map(({ name }) => `  '${name}',`).join('\n')}\n];\n`;
}

const isRoot = (schema: GraphQLSchema, type: GraphQLObjectType) =>
  type === schema.getQueryType() || type === schema.getSubscriptionType();

const isConnection = ({ type }: GraphQLField<unknown, unknown>) => getNamedType(type).name.endsWith('Connection');

function keyOf({ name, args }: GraphQLField<unknown, unknown>): string {
  const names = args.map((argument) => argument.name).filter((argument) => !PAGING.has(argument));
  return `    ${name}: [${names
    .toSorted()
    .map((argument) => `'${argument}'`)
    .join(', ')}],`;
}

/** The object types that queries and subscriptions can answer. The results of mutations are not kept. */
function readableTypes(schema: GraphQLSchema): GraphQLObjectType[] {
  const found = new Set<GraphQLObjectType>();
  const waiting = [schema.getQueryType(), schema.getSubscriptionType()].filter((type) => type != null);
  for (let type = waiting.pop(); type; type = waiting.pop()) {
    if (found.has(type)) continue;
    found.add(type);
    for (const { type: of } of Object.values(type.getFields())) {
      const named = getNamedType(of);
      if (isObjectType(named)) waiting.push(named);
      else if (isAbstractType(named)) waiting.push(...schema.getPossibleTypes(named));
    }
  }
  return [...found];
}
