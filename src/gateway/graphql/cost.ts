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

/** What a request asks for, before execution: variables as they came, not coerced. */
export interface CostedRequest {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/**
 * The cost of one operation, known before the first resolver: an object costs 1 and a scalar 0. `edges` and `nodes` of a
 * `…Connection`, with all below them, are multiplied by the page size: the larger of `first` and `last`, else 50. Any other
 * list is multiplied by 5, or by the number of its `ids` where that is more. A field that needs its own statement costs 10 more,
 * once for all parents. Introspection pays like everything else.
 *
 * It is an upper bound: `@skip` and `@include` are not looked at, every branch of a union counts, and so does a field that
 * is selected twice. At most `Number.MAX_SAFE_INTEGER`. It never throws: what validation or coercion will refuse (unknown
 * fields, circular fragments, an operation that cannot be picked, a page size that is no number) costs 0 or the default.
 *
 * Not @pothos/plugin-complexity: it multiplies all of a connection, `pageInfo` too, counts a field rather than the objects of
 * a list, takes the document's first operation, and says only a number, where a refusal should say which page size would pass.
 * For objects the rule needs the schema alone, no annotation of fields.
 */
export function costOf(request: CostedRequest): number {
  return operationCost(request).total;
}

/** What of it the statements cost. */
export function statementCostOf(request: CostedRequest): number {
  return operationCost(request).statements;
}

/**
 * Answers the cost of an operation. To be called after validation and before execution, for every request: the cost
 * depends on the variables.
 *
 * Error: `TOO_COSTLY` past 20,000, naming the path that costs most and the page size there that would pass, if one would.
 */
export function checkCost(request: CostedRequest): number {
  const root = operationCost(request);
  if (root.total <= LIMITS.cost) return root.total;
  const message = `The query costs ${root.total}; at most ${LIMITS.cost} are allowed. ${cheaper(root, LIMITS.cost)}`;
  throw limitError('TOO_COSTLY', message, LIMITS.cost, root.total);
}

/** What would make an operation that costs more than `limit` cheaper: the path that costs most, and the page size there that would pass. */
export function adviceFor(request: CostedRequest, limit: number): string {
  return cheaper(operationCost(request), limit);
}

/** A connection's page when neither `first` nor `last` is given. */
const DEFAULT_PAGE_SIZE = 50;
const PLAIN_LIST_SIZE = 5;

/** A selection set's cost for one parent object: `once`, and `perItem` of the page when that parent is a connection. */
interface SelectionCost {
  readonly once: number;
  readonly perItem: number;
  /** What its statements cost. They serve all parents together, so no list multiplies them. */
  readonly statements: number;
  /** The dearest field of either kind, and the one with the most statements, to be named in a refusal. */
  readonly dearestOnce?: FieldCost | undefined;
  readonly dearestItem?: FieldCost | undefined;
  readonly busiest?: FieldCost | undefined;
}

interface FieldCost {
  readonly responseName: string;
  /** What its objects cost for one parent. */
  readonly total: number;
  /** What its statements cost for all parents, those below it included. */
  readonly statements: number;
  /** Whether each item of a page has it. */
  readonly isItem: boolean;
  /** Objects that the field answers, and the page size of each should it be a connection. */
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
    // A fragment's cost depends on its own type condition and never on where it is spread: remembering it is exact.
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
    dearestOnce: larger('total', a.dearestOnce, b.dearestOnce),
    dearestItem: larger('total', a.dearestItem, b.dearestItem),
    busiest: larger('statements', a.busiest, b.busiest),
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
    ? { once: 0, perItem: total, statements, dearestItem: cost, busiest: cost }
    : { once: total, perItem: 0, statements, dearestOnce: cost, busiest: cost };
}

/** Whether a statement is sent for the field: for every connection and count, and for what is marked so. */
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
  // A default counts only where neither is given.
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

function argument(name: string, node: FieldNode, { variables }: Costing): unknown {
  const literal = node.arguments?.find((given) => given.name.value === name)?.value;
  return literal?.kind === Kind.VARIABLE ? variables.get(literal.name.value) : literal && valueFromASTUntyped(literal);
}

function defaultOf(name: string, { args }: GraphQLField<unknown, unknown>): unknown {
  const definition = args.find((arg) => arg.name === name);
  const fallback = definition?.default;
  return fallback?.literal ? valueFromASTUntyped(fallback.literal) : (fallback?.value ?? definition?.defaultValue);
}

/**
 * What to change: the connection with the largest page, on the dearest path, of which a smaller page would pass. Statements are not
 * multiplied, so no page size makes them fewer.
 */
function cheaper(root: FieldCost, limit: number): string {
  let advice: { place: string; pageSize: number; fits: number } | undefined;
  let dearest = '';
  for (const { path, objects, cost, field } of dearestPath(root)) {
    const { pageSize, selection } = field;
    const perItem = objects * selection.perItem;
    const place = `${path} costs most, ${cost} of it`;
    const fits = Math.floor((limit - (root.total - perItem * pageSize)) / perItem);
    // At the bound the total is no longer the sum of its parts, and nothing can be taken away from it.
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
  /** Objects that the field answers in all. */
  readonly objects: number;
  readonly cost: number;
  readonly field: FieldCost;
}

/** From the operation down, at each level the field that costs most. As long as the depth limit, which only introspection exceeds. */
function* dearestPath(root: FieldCost): Generator<Step> {
  const path: string[] = [];
  let step: Step | undefined = { path: '', objects: 1, cost: root.total, field: root };
  while (step && path.length <= LIMITS.depth) {
    yield step;
    const { objects, field }: Step = step;
    const { dearestItem, dearestOnce, busiest }: SelectionCost = field.selection;
    let next: Step | undefined;
    for (const child of [dearestOnce, dearestItem, busiest]) {
      if (!child) continue;
      const parents = objects * (child.isItem ? field.pageSize : 1);
      const cost = bounded(parents * child.total + child.statements);
      if (cost > (next?.cost ?? 0)) next = { path: '', objects: parents * child.count, cost, field: child };
    }
    if (next) path.push(next.field.responseName);
    step = next && { ...next, path: path.join('.') };
  }
}
