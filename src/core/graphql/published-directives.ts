import {
  DirectiveLocation,
  GraphQLDeprecatedDirective,
  GraphQLDirective,
  type GraphQLField,
  type GraphQLObjectType,
  GraphQLOneOfDirective,
  GraphQLSchema,
  buildSchema,
  isObjectType,
  isSpecifiedDirective,
  parse,
  printDirective,
  printSchema,
  visit,
} from 'graphql';

/** What tools read from the printed schema. `@cost` and `@listSize` are IBM's, `@key` and `@lookup` those of the composite schemas draft. */
const DIRECTIVES = `
"The field is null only with an error at its path. \`levels\` says at which levels of lists; 0 is the field itself."
directive @semanticNonNull(levels: [Int] = [0]) on FIELD_DEFINITION

"The field needs a key with all scopes of one of the lists."
directive @requiresScopes(scopes: [[String!]!]!) on FIELD_DEFINITION

"What the field costs wherever it stands, beside the 1 of each object. Unlike the usual meaning, lists do not multiply it."
directive @cost(weight: String!) on FIELD_DEFINITION

"How many items the cost counts: the largest of the arguments, else \`assumedSize\`."
directive @listSize(assumedSize: Int, slicingArguments: [String!], sizedFields: [String!], requireOneSlicingArgument: Boolean = true) on FIELD_DEFINITION

"The fields that identify an object, as a selection."
directive @key(fields: String!) repeatable on OBJECT | INTERFACE

"The field finds an object by its key."
directive @lookup on FIELD_DEFINITION
type Query { none: Int }`;

/**
 * Adds these directives, and removes the location `DIRECTIVE_DEFINITION` from `@deprecated`: graphql-js adds it ahead of the specification, and
 * clients that know only the published locations refuse the whole introspection. No directive of the schema is
 * deprecated.
 */
export function withPublishedDirectives(schema: GraphQLSchema): GraphQLSchema {
  const { locations, ...deprecated } = GraphQLDeprecatedDirective.toConfig();
  const published = new GraphQLDirective({
    ...deprecated,
    locations: locations.filter((location) => location !== DirectiveLocation.DIRECTIVE_DEFINITION),
  });
  const { directives, ...rest } = schema.toConfig();
  const added = buildSchema(DIRECTIVES)
    .getDirectives()
    .filter((each) => !isSpecifiedDirective(each));
  return new GraphQLSchema({
    ...rest,
    directives: [...directives.map((each) => (each.name === published.name ? published : each)), ...added],
  });
}

/** The directives of the types and fields of a schema, as text. */
export interface Applied {
  readonly ofType: (type: GraphQLObjectType) => readonly string[];
  readonly ofField: (field: GraphQLField<unknown, unknown>, parent: GraphQLObjectType) => readonly string[];
}

/**
 * The schema as text. graphql-js prints neither applied directives nor the definition of `@oneOf`, without which tools that are older than it
 * refuse the schema.
 */
export function printWithDirectives(schema: GraphQLSchema, { ofType, ofField }: Applied): string {
  const text = `${printDirective(GraphQLOneOfDirective)}\n\n${printSchema(schema)}\n`;
  const insertions: (readonly [end: number, directives: readonly string[]])[] = [];
  visit(parse(text), {
    ObjectTypeDefinition: ({ name, interfaces = [], fields = [] }) => {
      const type = schema.getType(name.value);
      if (!isObjectType(type)) return false;
      insertions.push([(interfaces.at(-1) ?? name).loc?.end ?? 0, ofType(type)]);
      for (const { name: field, type: of } of fields) {
        const found = type.getFields()[field.value];
        if (found) insertions.push([of.loc?.end ?? 0, ofField(found, type)]);
      }
      return false;
    },
  });
  let printed = '';
  let start = 0;
  for (const [end, directives] of insertions) {
    printed += [text.slice(start, end), ...directives].join(' ');
    start = end;
  }
  return printed + text.slice(start);
}
