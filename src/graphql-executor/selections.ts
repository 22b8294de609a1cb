import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLDirective,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  type ValueNode,
  getArgumentValues,
  getDirectiveValues,
  isAbstractType,
  typeFromAST,
} from 'graphql';
import { NotCompiled } from './outcome.ts';
import type { VariableValues } from './variables.ts';

/** Maximum number of selections over all types; larger documents are not compiled. */
const MAX_FIELDS = 2000;

/** The selections of a document for the current values of the variables in `@skip` and `@include`. */
export class Selections {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly #schema: GraphQLSchema;
  readonly #variables: VariableValues;
  #size = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: VariableValues) {
    this.#schema = schema;
    this.#variables = variables;
    const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
    for (const node of document.definitions) {
      if (node.kind === Kind.FRAGMENT_DEFINITION) fragments[node.name.value] = node;
    }
    this.fragments = fragments;
  }

  /** The fields of an object type by response name, merged from selection sets (GraphQL, section 6.3.2). */
  fieldsOf(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Map<string, SelectedField> {
    const fields = new Map<string, [FieldNode, ...FieldNode[]]>();
    const spread = new Set<string>();
    const visit = (selection: SelectionNode): void => {
      if (!this.#isIncluded(selection)) return;
      if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        const same = fields.get(name);
        if (same) same.push(selection);
        else fields.set(name, [selection]);
        return;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        if (selection.arguments?.length) throw new NotCompiled('fragment_arguments');
        if (spread.has(selection.name.value)) return;
        spread.add(selection.name.value);
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.fragments[selection.name.value] : selection;
      if (fragment && this.#applies(fragment.typeCondition, type)) fragment.selectionSet.selections.forEach(visit);
    };
    for (const { selections } of sets) selections.forEach(visit);
    this.#size += fields.size;
    // `__proto__` is not an ordinary property.
    if (this.#size > MAX_FIELDS) throw new NotCompiled('too_large');
    if (fields.has('__proto__')) throw new NotCompiled('response_name');
    return new Map([...fields].map(([name, nodes]) => [name, { nodes, definition: definitionOf(type, nodes) }]));
  }

  #isIncluded(node: SelectionNode): boolean {
    const { directives = [] } = node;
    if (directives.length === 0) return true;
    if (directives.some(({ name: { value } }) => value !== 'skip' && value !== 'include'))
      throw new NotCompiled('directive');
    return (
      this.#conditionOf(GraphQLSkipDirective, node) !== true &&
      this.#conditionOf(GraphQLIncludeDirective, node) !== false
    );
  }

  #conditionOf(directive: GraphQLDirective, node: SelectionNode): unknown {
    try {
      return getDirectiveValues(directive, node, this.#variables)?.['if'];
    } catch {
      // graphql-js creates the error.
      throw new NotCompiled('condition');
    }
  }

  #applies(condition: FragmentDefinitionNode['typeCondition'] | undefined, type: GraphQLObjectType): boolean {
    if (!condition) return true;
    const wanted = typeFromAST(this.#schema, condition);
    return wanted === type || (isAbstractType(wanted) && this.#schema.isSubType(wanted, type));
  }
}

/** A field of an answer: all selections with one response name. */
export interface SelectedField {
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  readonly definition: GraphQLField<unknown, unknown>;
}

function definitionOf(type: GraphQLObjectType, [node]: SelectedField['nodes']): GraphQLField<unknown, unknown> {
  const name = node.name.value;
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  const field = type.getFields()[name];
  if (!field) throw new NotCompiled(name.startsWith('__') ? 'introspection' : 'unknown_field');
  return field;
}

/** Names of the variables in `@skip` and `@include`: compiled code is valid only for their values. */
export function conditionsOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  const look = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      for (const { arguments: given = [] } of selection.directives ?? [])
        for (const { value } of given) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet) look(selection.selectionSet);
    }
  };
  for (const definition of document.definitions) if ('selectionSet' in definition) look(definition.selectionSet);
  return [...names].toSorted();
}

export type Arguments = Readonly<Record<string, unknown>>;

/** Of a field without arguments. */
export const NO_ARGUMENTS: Arguments = Object.freeze(Object.create(null));

/**
 * The arguments of a field in one execution (GraphQL, section 6.4.1). As in graphql-js, the values of variables and defaults are shared with
 * other fields.
 */
export const argumentsOf = ({ definition, nodes: [node] }: SelectedField, variables: VariableValues): Arguments =>
  getArgumentValues(definition, node, variables);

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
