import {
  DirectiveLocation,
  GraphQLDeprecatedDirective,
  GraphQLDirective,
  GraphQLInt,
  GraphQLList,
  GraphQLOneOfDirective,
  GraphQLSchema,
  isObjectType,
  parse,
  printDirective,
  printSchema,
  visit,
} from 'graphql';
import { isSemanticallyNonNull } from './refusable.ts';

/** Nullability that clients can rely on, as Relay and other clients read it from the printed schema. */
const SemanticNonNull = new GraphQLDirective({
  name: 'semanticNonNull',
  description:
    'The field is null only with an error at its path. `levels` says at which levels of lists; 0 is the field itself.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: { levels: { type: new GraphQLList(GraphQLInt), default: { value: [0] } } },
});

/**
 * Adds `@semanticNonNull`, and removes the location `DIRECTIVE_DEFINITION` from `@deprecated`: graphql-js adds it ahead of the specification, and
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
  return new GraphQLSchema({
    ...rest,
    directives: [...directives.map((each) => (each.name === published.name ? published : each)), SemanticNonNull],
  });
}

/**
 * The schema as text. graphql-js prints neither applied directives nor the definition of `@oneOf`, without which tools that are older than it
 * refuse the schema.
 */
export function printWithDirectives(schema: GraphQLSchema): string {
  const text = `${printDirective(GraphQLOneOfDirective)}\n\n${printSchema(schema)}\n`;
  const ends: number[] = [];
  visit(parse(text), {
    ObjectTypeDefinition: ({ name, fields = [] }) => {
      const type = schema.getType(name.value);
      const known = isObjectType(type) ? type.getFields() : {};
      for (const { name: field, type: of } of fields)
        if (isSemanticallyNonNull(known[field.value])) ends.push(of.loc?.end ?? 0);
      return false;
    },
  });
  let printed = '';
  let start = 0;
  for (const end of ends) {
    printed += `${text.slice(start, end)} @${SemanticNonNull.name}`;
    start = end;
  }
  return printed + text.slice(start);
}
