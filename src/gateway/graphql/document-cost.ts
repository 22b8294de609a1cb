import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  getNamedType,
  getNullableType,
  getOperationAST,
  isCompositeType,
  isListType,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import { LIMITS } from '../../core/graphql/document-limits.ts';
import { bounded, limitError, perFragment } from './limits.ts';
import { largest } from '../../core/arrays.ts';

/** The arguments that the cost of a field depends on. */
const SIZE_ARGUMENTS = ['first', 'last', 'ids'] as const;
type SizeArgument = (typeof SIZE_ARGUMENTS)[number];

/** A request before execution. The variables are not coerced yet. */
export interface CostedRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * The cost of one operation, calculated before execution. An object costs 1, a scalar 0. `edges` and `nodes` of a
 * connection, with everything below, are multiplied by the page size: the larger of `first` and `last`, else 50. Any
 * other list is multiplied by 5, or by the number of its `ids` if that is larger. A field that needs its own
 * statements costs 10 more for each, once for all parents. Introspection costs the same.
 *
 * The result is an upper bound of at most `Number.MAX_SAFE_INTEGER`: `@skip` and `@include` are ignored, every branch
 * of a union counts, and a repeated field counts twice. It never throws: parts that validation or coercion will refuse
 * (unknown fields, circular fragments, an unknown operation, a page size that is not a number) cost 0 or the default.
 *
 * @pothos/plugin-complexity was not used: it multiplies the whole connection with `pageInfo`, counts fields instead of
 * objects, uses the first operation of the document, and reports only a number, while a refusal should name what costs
 * most.
 */
export const costOf = (request: CostedRequest): number => operationCost(request).total;

/** The part of the cost that is for database statements. */
export const statementCostOf = (request: CostedRequest): number => operationCost(request).statements;

/**
 * Returns the cost of an operation. Call it for every request after validation and before execution, because the cost
 * depends on the variables.
 *
 * Throws `TOO_COSTLY` above 20,000 points. The message names the most expensive path.
 */
export function checkCost(request: CostedRequest): number {
  const { total, dearest } = operationCost(request);
  if (total <= LIMITS.cost) return total;
  const message = `The query costs ${total}; at most ${LIMITS.cost} are allowed. ${adviceOn(dearest)}`;
  throw limitError('TOO_COSTLY', message, LIMITS.cost, total);
}

/** Advice how to reduce the cost. It names no page size, because a smaller page may not be enough. */
export const adviceFor = (request: CostedRequest): string => adviceOn(operationCost(request).dearest);

const adviceOn = (dearest: SelectionCost['dearest']): string =>
  `Its most expensive path is ${dearest?.path}: ask for smaller pages or fewer fields there, or split the query.`;

/** Page size of a connection without `first` and `last`. */
const DEFAULT_PAGE_SIZE = 50;
const PLAIN_LIST_SIZE = 5;

/** The cost of a selection set for one parent object: `once`, and `perItem` for each item when the parent is a connection. */
interface SelectionCost {
  readonly once: number;
  readonly perItem: number;
  /** Cost of the statements. One statement serves all parents, so lists do not multiply it. */
  readonly statements: number;
  /** The most expensive field, with the most expensive fields below it. */
  readonly dearest?: { readonly path: string; readonly cost: number } | undefined;
}

interface Costing {
  readonly schema: GraphQLSchema;
  readonly variables: ReadonlyMap<string, unknown>;
  readonly ofFragment: (name: string) => SelectionCost;
}

const FREE: SelectionCost = { once: 0, perItem: 0, statements: 0 };
const STATEMENT_COST = 10;

type OperationCost = Pick<SelectionCost, 'statements' | 'dearest'> & { readonly total: number };

function operationCost({ schema, document, operationName, variables }: CostedRequest): OperationCost {
  const operation = getOperationAST(document, operationName);
  const costing: Costing = {
    schema,
    variables: new Map([...defaultsOf(operation), ...Object.entries(variables ?? {})]),
    // The cost of a fragment depends only on its type condition and not on where it is spread, so it can be cached.
    ofFragment: perFragment(document, FREE, ({ selectionSet, typeCondition }) =>
      selectionCost(selectionSet, schema.getType(typeCondition.name.value), costing),
    ),
  };
  const root = operation && schema.getRootType(operation.operation);
  const selection = operation && root ? selectionCost(operation.selectionSet, root, costing) : FREE;
  const { once, statements, dearest } = selection;
  return { total: bounded(once + statements), statements, dearest };
}

function* defaultsOf(operation: OperationDefinitionNode | null | undefined): Generator<[string, unknown]> {
  for (const { variable, defaultValue } of operation?.variableDefinitions ?? []) {
    if (defaultValue) yield [variable.name.value, valueFromASTUntyped(defaultValue)];
  }
}

function selectionCost(set: SelectionSetNode, parent: GraphQLNamedType | undefined, costing: Costing): SelectionCost {
  let sum = FREE;
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) {
      sum = plus(sum, fieldCost(selection, parent, costing));
    } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
      sum = plus(sum, costing.ofFragment(selection.name.value));
    } else {
      const { typeCondition, selectionSet } = selection;
      const type = typeCondition ? costing.schema.getType(typeCondition.name.value) : parent;
      sum = plus(sum, selectionCost(selectionSet, type, costing));
    }
  }
  return sum;
}

const plus = (a: SelectionCost, b: SelectionCost): SelectionCost => ({
  once: bounded(a.once + b.once),
  perItem: bounded(a.perItem + b.perItem),
  statements: bounded(a.statements + b.statements),
  dearest: b.dearest && b.dearest.cost > (a.dearest?.cost ?? 0) ? b.dearest : a.dearest,
});

function fieldCost(node: FieldNode, parent: GraphQLNamedType | undefined, costing: Costing): SelectionCost {
  const field = isCompositeType(parent) ? costing.schema.getField(parent, node.name.value) : undefined;
  const type = field && getNamedType(field.type);
  if (!field || !type) return FREE;
  const own = statementCost(field, parent);
  if (!node.selectionSet || !isCompositeType(type)) return own === 0 ? FREE : { ...FREE, statements: own };

  const selection = selectionCost(node.selectionSet, type, costing);
  const statements = bounded(own + selection.statements);
  const isPage = isConnection(parent) && SIZED_FIELDS.includes(node.name.value);
  const count = isPage ? 1 : listSize(field, node, costing);
  const pageSize = pageSizeOf(field, node, costing);
  const total = bounded(count * (1 + selection.once + pageSize * selection.perItem));
  const responseName = (node.alias ?? node.name).value;
  const path = selection.dearest ? `${responseName}.${selection.dearest.path}` : responseName;
  // The items of a page, of which there may be many, are compared with what its connection has once.
  const cost = bounded((isPage ? DEFAULT_PAGE_SIZE : 1) * total + statements);
  return { once: isPage ? 0 : total, perItem: isPage ? total : 0, statements, dearest: { path, cost } };
}

/** The fields of a connection that its page size multiplies. */
const SIZED_FIELDS: readonly string[] = ['edges', 'nodes'];
const isConnection = (type: GraphQLNamedType | undefined): boolean => type?.name.endsWith('Connection') === true;

/** The cost of the statements that the field needs at most: what it is marked with, and at least one for every connection and count. */
export function statementCost(
  { name, type, extensions }: GraphQLField<unknown, unknown>,
  parent: GraphQLNamedType | undefined,
): number {
  const isCount = name === 'totalCount' && isConnection(parent);
  const { ownStatements } = extensions;
  const marked = typeof ownStatements === 'number' ? ownStatements : 0;
  return STATEMENT_COST * (isCount || isConnection(getNamedType(type)) ? Math.max(1, marked) : marked);
}

/** How the number of items is found that the cost of a field counts; undefined for one object and for a part of a connection. */
export function sizingOf(field: GraphQLField<unknown, unknown>, parent: GraphQLNamedType) {
  const type = getNamedType(field.type);
  if (isConnection(type))
    return { assumedSize: DEFAULT_PAGE_SIZE, slicingArguments: ['first', 'last'], sizedFields: SIZED_FIELDS };
  const levels = listLevels(field.type);
  if (levels === 0 || isConnection(parent) || !isCompositeType(type)) return undefined;
  const slicingArguments = field.args.some(({ name }) => name === 'ids') ? ['ids'] : [];
  return { assumedSize: PLAIN_LIST_SIZE ** levels, slicingArguments, sizedFields: [] };
}

function pageSizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode, costing: Costing): number {
  const given = [argument('first', node, costing), argument('last', node, costing)];
  const sizes = given.filter((size) => typeof size === 'number');
  if (sizes.length > 0) return bounded(largest(sizes, -Infinity));
  // The default of `first` applies only when neither argument is given.
  const size = defaultOf('first', field);
  return typeof size === 'number' ? size : DEFAULT_PAGE_SIZE;
}

function listSize(field: GraphQLField<unknown, unknown>, node: FieldNode, costing: Costing): number {
  const size = PLAIN_LIST_SIZE ** listLevels(field.type);
  const ids = argument('ids', node, costing) ?? defaultOf('ids', field);
  return size > 1 && Array.isArray(ids) ? Math.max(size, ids.length) : size;
}

function listLevels(type: GraphQLOutputType): number {
  const nullable = getNullableType(type);
  return isListType(nullable) ? 1 + listLevels(nullable.ofType) : 0;
}

function argument(name: SizeArgument, node: FieldNode, { variables }: Costing): unknown {
  const literal = node.arguments?.find((given) => given.name.value === name)?.value;
  return literal?.kind === Kind.VARIABLE ? variables.get(literal.name.value) : literal && valueFromASTUntyped(literal);
}

function defaultOf(name: string, { args }: GraphQLField<unknown, unknown>): unknown {
  const definition = args.find((arg) => arg.name === name);
  const fallback = definition?.default;
  return fallback?.literal ? valueFromASTUntyped(fallback.literal) : (fallback?.value ?? definition?.defaultValue);
}

const SIZES: ReadonlySet<string> = new Set(SIZE_ARGUMENTS);

/** The variables that the cost of an operation depends on, their last values, and its cost with these. */
interface Known {
  readonly names: readonly string[];
  values: string;
  cost: number;
}

/** Caches `checkCost`: the cost of an operation is computed again only if a variable that it depends on has changed. */
export function createCosts(): (request: CostedRequest) => number {
  const known = new WeakMap<OperationDefinitionNode, Known>();
  return (request) => {
    const operation = getOperationAST(request.document, request.operationName);
    if (!operation) return checkCost(request);
    const before = known.get(operation);
    const names = before?.names ?? sizeVariables(request.document);
    const values = names.map((name) => sizeIn(request.variables?.[name])).join();
    if (before?.values === values) return before.cost;
    const cost = checkCost(request);
    if (before) Object.assign(before, { values, cost });
    else known.set(operation, { names, values, cost });
    return cost;
  };
}

/** The part of a value that the cost depends on. */
function sizeIn(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  return typeof value === 'number' || value === null ? String(value) : typeof value;
}

/** The variables that the cost of a document depends on. */
export function sizeVariables(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Argument({ name, value }) {
      if (value.kind === Kind.VARIABLE && SIZES.has(name.value)) names.add(value.name.value);
    },
  });
  return [...names];
}
