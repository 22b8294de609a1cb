import {
  type FieldNode,
  type GraphQLCompositeType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isObjectType,
} from 'graphql';
import type { Columns } from '../postgres/reading/columns.ts';

/**
 * Declares the columns that a field needs, as names of properties of the row. A field that neither declares nor exposes a column needs all
 * columns.
 */
export const needs = <Row>(...columns: readonly (keyof Row & string)[]): { readonly columns: readonly string[] } => ({
  columns,
});

const remembered = new WeakMap<FieldNode, Map<string, readonly string[] | undefined>>();

/**
 * The columns that are selected of the objects of a type, below the current field: of its object, of the objects in its
 * list or connection, or below `path`, for example in a payload. `@skip` and `@include` are ignored, but undefined if
 * they are on the path, so that nothing is read ahead for a field that may be left out.
 */
export function selectedColumns<Row>(info: GraphQLResolveInfo, type: string, ...path: readonly string[]): Columns<Row> {
  // A field that is selected in several places has several nodes.
  const [first, ...more] = info.fieldNodes;
  if (!first || more.length > 0) return undefined;
  const key = path.length === 0 ? type : [type, ...path].join('.');
  let known = remembered.get(first);
  if (!known) remembered.set(first, (known = new Map<string, readonly string[] | undefined>()));
  if (!known.has(key)) known.set(key, columnsBelow(info, first, type, path));
  return known.get(key) as Columns<Row>;
}

function columnsBelow(
  info: GraphQLResolveInfo,
  { selectionSet }: FieldNode,
  type: string,
  path: readonly string[],
): readonly string[] | undefined {
  const returned = getNamedType(info.returnType);
  if (!selectionSet || !isCompositeType(returned)) return undefined;
  const found = new Set<string>();
  return collect({ info, type, found }, selectionSet, returned, path) ? [...found].toSorted() : undefined;
}

interface Collecting {
  readonly info: GraphQLResolveInfo;
  readonly type: string;
  readonly found: Set<string>;
}

/** Collects columns. Returns false if a field needs all columns. */
const collect = (
  collecting: Collecting,
  set: SelectionSetNode,
  parent: GraphQLCompositeType,
  path: readonly string[],
): boolean =>
  set.selections.every((selection) => {
    const isConditional = path.length > 0 && (selection.directives?.length ?? 0) > 0;
    if (isConditional && (selection.kind !== Kind.FIELD || selection.name.value === path[0])) return false;
    if (selection.kind === Kind.FIELD) return collectField(collecting, selection, parent, path);
    const { schema, fragments } = collecting.info;
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection;
    const condition = fragment?.typeCondition ? schema.getType(fragment.typeCondition.name.value) : parent;
    return fragment !== undefined && isCompositeType(condition)
      ? collect(collecting, fragment.selectionSet, condition, path)
      : false;
  });

function collectField(
  collecting: Collecting,
  node: FieldNode,
  parent: GraphQLCompositeType,
  path: readonly string[],
): boolean {
  const name = node.name.value;
  if (name === '__typename') return true;
  const [step, ...rest] = path;
  if (step !== undefined) return name === step && node.selectionSet ? below(collecting, node, parent, rest) : true;
  if (isObjectType(parent)) {
    if (parent.name === collecting.type) return addColumns(collecting, parent, name);
    // Properties of an edge come with the row.
    if (parent.name === `${collecting.type}Edge` && name !== 'node' && name !== 'cursor')
      return addColumns(collecting, parent, name);
  }
  // Below an interface such as Node, use the fields of the object type.
  if (isAbstractType(parent)) {
    const type = collecting.info.schema.getType(collecting.type);
    return isObjectType(type) && type.getFields()[name] ? addColumns(collecting, type, name) : true;
  }
  const isOnTheWay = /^(?:edges|node|nodes)$/.test(name) && node.selectionSet;
  return isOnTheWay ? below(collecting, node, parent, path) : true;
}

function below(
  collecting: Collecting,
  node: FieldNode,
  parent: GraphQLCompositeType,
  path: readonly string[],
): boolean {
  const field = collecting.info.schema.getField(parent, node.name.value);
  const type = field && getNamedType(field.type);
  return isCompositeType(type) && node.selectionSet ? collect(collecting, node.selectionSet, type, path) : true;
}

function addColumns({ found }: Collecting, type: GraphQLObjectType, name: string): boolean {
  const { columns, pothosExposedField } = type.getFields()[name]?.extensions ?? {};
  const needed: unknown = columns ?? (typeof pothosExposedField === 'string' ? [pothosExposedField] : undefined);
  if (!Array.isArray(needed)) return false;
  for (const column of needed) found.add(String(column));
  return true;
}
