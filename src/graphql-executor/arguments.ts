import { type FieldNode, type GraphQLField, Kind, getArgumentValues } from 'graphql';
import type { VariableValues } from './variables.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** Creates the arguments of a field for its next object. */
export type NextArguments = () => Arguments;

/** Of a field without arguments. */
export const NO_ARGUMENTS: Arguments = Object.freeze(Object.create(null));

/**
 * The arguments of a field in one execution (GraphQL, section 6.4.1). Each object gets its own arguments, because a
 * resolver may change them. The values of variables and defaults are shared, as in graphql-js.
 */
export function argumentsOf(
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
  variables: VariableValues,
): NextArguments {
  const coerce = () => getArgumentValues(definition, node, variables);
  const first = coerce();
  const isMadeAnew = node.arguments?.some(
    ({ name, value }) => value.kind !== Kind.VARIABLE && typeof first[name.value] === 'object' && first[name.value],
  );
  if (isMadeAnew) return coerce;
  const entries = Object.entries(first);
  return () => {
    const copy: Record<string, unknown> = Object.create(null);
    for (const [name, value] of entries) copy[name] = value;
    return copy;
  };
}
