import {
  getNamedType,
  getNullableType,
  getOperationAST,
  isCompositeType,
  isListType,
  Kind,
  valueFromASTUntyped,
} from 'graphql';
import type {
  DocumentNode,
  FieldNode,
  GraphQLField,
  GraphQLNamedType,
  GraphQLOutputType,
  GraphQLSchema,
  OperationDefinitionNode,
  SelectionSetNode,
} from 'graphql';
import { bounded, limitError, LIMITS, perFragment } from './limits.ts';

/** The arguments that the cost of a field depends on. */
export const SIZE_ARGUMENTS = ['first', 'last', 'ids'] as const;
type SizeArgument = (typeof SIZE_ARGUMENTS)[number];

/** A request before execution. The variables are not coerced yet. */
export interface CostedRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * The cost of one operation, calculated before execution. An object costs 1, a scalar 0. `edges` and `nodes` of a connection, with everything
 * below, are multiplied by the page size: the larger of `first` and `last`, else 50. Any other list is multiplied by 5, or by the number of
 * its `ids` if that is larger. A field that needs its own statement costs 10 more, once for all parents. Introspection costs the same.
 *
 * The result is an upper bound of at most `Number.MAX_SAFE_INTEGER`: `@skip` and `@include` are ignored, every branch of a union counts, and a
 * repeated field counts twice. It never throws: parts that validation or coercion will refuse (unknown fields, circular fragments, an unknown
 * operation, a page size that is not a number) cost 0 or the default.
 *
 * @pothos/plugin-complexity was not used: it multiplies the whole connection with `pageInfo`, counts fields instead of objects, uses the first
 * operation of the document, and reports only a number, while a refusal should say which page size would pass.
 */
export function costOf(request: CostedRequest): number {
  return operationCost(request).total;
}

/** The part of the cost that is for database statements. */
export function statementCostOf(request: CostedRequest): number {
  return operationCost(request).statements;
}

/**
 * Returns the cost of an operation. Call it for every request after validation and before execution, because the cost depends on the variables.
 *
 * Throws `TOO_COSTLY` above 20,000 points. The message names the most expensive path, and the page size there that would pass, if there is one.
 */
export function checkCost(request: CostedRequest): number {
  const root = operationCost(request);
  if (root.total <= LIMITS.cost) return root.total;
  const message = `The query costs ${root.total}; at most ${LIMITS.cost} are allowed. ${adviceToReduce(root, LIMITS.cost)}`;
  throw limitError('TOO_COSTLY', message, LIMITS.cost, root.total);
}

/** Advice how to reduce the cost below `limit`: the most expensive path, and the page size there that would pass. */
export function adviceFor(request: CostedRequest, limit: number): string {
  return adviceToReduce(operationCost(request), limit);
}

/** Page size of a connection without `first` and `last`. */
const DEFAULT_PAGE_SIZE = 50;
const PLAIN_LIST_SIZE = 5;

/** The cost of a selection set for one parent object: `once`, and `perItem` for each item when the parent is a connection. */
interface SelectionCost {
  readonly once: number;
  readonly perItem: number;
  /** Cost of the statements. One statement serves all parents, so lists do not multiply it. */
  readonly statements: number;
  /** The most expensive field of each kind, and the field with the most statements, for the message of a refusal. */
  readonly mostExpensiveOnce?: FieldCost | undefined;
  readonly mostExpensiveItem?: FieldCost | undefined;
  readonly mostStatements?: FieldCost | undefined;
}

interface FieldCost {
  readonly responseName: string;
  /** Cost of the objects for one parent. */
  readonly total: number;
  /** Cost of the statements for all parents, with the statements below the field. */
  readonly statements: number;
  /** Whether the field is selected for each item of a page. */
  readonly isItem: boolean;
  /** Number of objects that the field returns, and the page size if it is a connection. */
  readonly count: number;
  readonly pageSize: number;
  readonly selection: SelectionCost;
}

interface Costing {
  readonly schema: GraphQLSchema;
  readonly variables: ReadonlyMap<string, unknown>;
  readonly ofFragment: (name: string) => SelectionCost;
}

const FREE: SelectionCost = { once: 0, perItem: 0, statements: 0 };
const STATEMENT_COST = 10;

function operationCost({ schema, document, operationName, variables }: CostedRequest): FieldCost {
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
  return {
    responseName: '',
    total: bounded(selection.once + selection.statements),
    statements: selection.statements,
    isItem: false,
    count: 1,
    pageSize: DEFAULT_PAGE_SIZE,
    selection,
  };
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

function plus(a: SelectionCost, b: SelectionCost): SelectionCost {
  return {
    once: bounded(a.once + b.once),
    perItem: bounded(a.perItem + b.perItem),
    statements: bounded(a.statements + b.statements),
    mostExpensiveOnce: larger('total', a.mostExpensiveOnce, b.mostExpensiveOnce),
    mostExpensiveItem: larger('total', a.mostExpensiveItem, b.mostExpensiveItem),
    mostStatements: larger('statements', a.mostStatements, b.mostStatements),
  };
}

function larger(by: 'total' | 'statements', a: FieldCost | undefined, b: FieldCost | undefined): FieldCost | undefined {
  return b && b[by] > (a?.[by] ?? 0) ? b : a;
}

function fieldCost(node: FieldNode, parent: GraphQLNamedType | undefined, costing: Costing): SelectionCost {
  const field = isCompositeType(parent) ? costing.schema.getField(parent, node.name.value) : undefined;
  const type = field && getNamedType(field.type);
  if (!field || !type) return FREE;
  const own = hasOwnStatement(field, type, parent) ? STATEMENT_COST : 0;
  if (!node.selectionSet || !isCompositeType(type)) return own === 0 ? FREE : { ...FREE, statements: own };

  const selection = selectionCost(node.selectionSet, type, costing);
  const statements = bounded(own + selection.statements);
  const isPage = /^(edges|nodes)$/.test(node.name.value) && parent?.name.endsWith('Connection') === true;
  const count = isPage ? 1 : listSize(field, node, costing);
  const pageSize = pageSizeOf(field, node, costing);
  const total = bounded(count * (1 + selection.once + pageSize * selection.perItem));
  const responseName = (node.alias ?? node.name).value;
  const cost: FieldCost = { responseName, total, statements, isItem: isPage, count, pageSize, selection };
  return isPage
    ? { once: 0, perItem: total, statements, mostExpensiveItem: cost, mostStatements: cost }
    : { once: total, perItem: 0, statements, mostExpensiveOnce: cost, mostStatements: cost };
}

/** Whether the field needs its own statement: every connection and count, and every field that is marked. */
function hasOwnStatement(
  { name, extensions }: GraphQLField<unknown, unknown>,
  type: GraphQLNamedType,
  parent: GraphQLNamedType | undefined,
): boolean {
  const isCount = name === 'totalCount' && parent?.name.endsWith('Connection') === true;
  return isCount || type.name.endsWith('Connection') || extensions['ownStatement'] === true;
}

function pageSizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode, costing: Costing): number {
  const given = [argument('first', node, costing), argument('last', node, costing)];
  const sizes = given.filter((size) => typeof size === 'number');
  if (sizes.length > 0) return bounded(Math.max(...sizes));
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

/**
 * Advice: the connection with the largest page on the most expensive path for which a smaller page would pass. A smaller page does not reduce
 * the cost of statements, because lists do not multiply it.
 */
function adviceToReduce(root: FieldCost, limit: number): string {
  let advice: { place: string; pageSize: number; fits: number } | undefined;
  let dearest = '';
  for (const { path, objects, cost, field } of mostExpensivePath(root)) {
    const { pageSize, selection } = field;
    const perItem = objects * selection.perItem;
    const place = `${path} costs most, ${cost} of it`;
    const fits = Math.floor((limit - (root.total - perItem * pageSize)) / perItem);
    // At the upper bound the total is not the sum of its parts, so no smaller page can be calculated.
    const wouldPass = root.total < Number.MAX_SAFE_INTEGER && fits >= 1;
    if (wouldPass && pageSize >= (advice?.pageSize ?? 0)) advice = { place, pageSize, fits };
    dearest = place;
  }
  if (advice)
    return `${advice.place}: a page of at most ${advice.fits} there, instead of ${advice.pageSize}, would pass.`;
  if (root.statements * 2 <= root.total) return `${dearest}: nest fewer lists and connections, or split the query.`;
  const count = root.statements / STATEMENT_COST;
  return `${dearest}; ${count} database statements cost ${root.statements} of it: select fewer connections and counts, or split the query.`;
}

interface Step {
  readonly path: string;
  /** Total number of objects of the field. */
  readonly objects: number;
  readonly cost: number;
  readonly field: FieldCost;
}

/** The most expensive field at each level, from the operation down. The depth limit bounds the path. */
function* mostExpensivePath(root: FieldCost): Generator<Step> {
  const path: string[] = [];
  let step: Step | undefined = { path: '', objects: 1, cost: root.total, field: root };
  while (step && path.length <= LIMITS.depth) {
    yield step;
    const { objects, field }: Step = step;
    const { mostExpensiveItem, mostExpensiveOnce, mostStatements }: SelectionCost = field.selection;
    let next: Step | undefined;
    for (const child of [mostExpensiveOnce, mostExpensiveItem, mostStatements]) {
      if (!child) continue;
      const parents = objects * (child.isItem ? field.pageSize : 1);
      const cost = bounded(parents * child.total + child.statements);
      if (cost > (next?.cost ?? 0)) next = { path: '', objects: parents * child.count, cost, field: child };
    }
    if (next) path.push(next.field.responseName);
    step = next && { ...next, path: path.join('.') };
  }
}
