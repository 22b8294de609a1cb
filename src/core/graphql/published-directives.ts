import { DirectiveLocation, GraphQLDeprecatedDirective, GraphQLDirective, GraphQLSchema } from 'graphql';

/**
 * Removes the location `DIRECTIVE_DEFINITION` from `@deprecated`: graphql-js adds it ahead of the specification, and
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
    directives: directives.map((each) => (each.name === published.name ? published : each)),
  });
}
