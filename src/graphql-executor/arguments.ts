import { Kind, type ValueNode, getArgumentValues } from 'graphql';
import type { SelectedField } from './selections.ts';
import type { VariableValues } from './variables.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** Of a field without arguments. */
export const NO_ARGUMENTS: Arguments = Object.freeze(Object.create(null));

/**
 * The arguments of a field in one execution (GraphQL, section 6.4.1). As in graphql-js, the values of variables and defaults are shared with
 * other fields.
 */
export function argumentsOf({ definition, nodes: [node] }: SelectedField, variables: VariableValues): Arguments {
  return getArgumentValues(definition, node, variables);
}

/**
 * The arguments of a field that all its objects share. They are frozen: a resolver that changes them throws, so that graphql-js executes the
 * query instead.
 */
export function sharedArgumentsOf(field: SelectedField, variables: VariableValues): Arguments {
  const values = argumentsOf(field, variables);
  for (const { name, value } of field.nodes[0].arguments ?? []) freezeLiteral(value, values[name.value]);
  return Object.freeze(values);
}

/** Freezes what was made of a literal, but not the values of variables in it. */
function freezeLiteral(node: ValueNode, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (node.kind === Kind.OBJECT) {
    for (const field of node.fields) freezeLiteral(field.value, (value as Arguments)[field.name.value]);
    Object.freeze(value);
  } else if (node.kind === Kind.LIST) {
    if (Array.isArray(value)) for (const [index, item] of node.values.entries()) freezeLiteral(item, value[index]);
    Object.freeze(value);
  }
}
