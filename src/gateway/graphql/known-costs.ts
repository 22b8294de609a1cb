import { type DocumentNode, Kind, type OperationDefinitionNode, getOperationAST, visit } from 'graphql';
import { type CostedRequest, checkCost } from './cost.ts';

/** Arguments that say how many objects a field answers. */
const SIZES: ReadonlySet<string> = new Set(['first', 'last', 'ids']);

/** What is known of an operation: the variables that its cost depends on, and what it cost with the last values of them. */
interface Known {
  readonly names: readonly string[];
  values: string;
  cost: number;
}

/** `checkCost` for operations that come again: finding a cost takes as long as validating a small input. It lives as long as the document. */
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

/** What of a value the cost depends on. */
function sizeIn(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  return typeof value === 'number' || value === null ? String(value) : typeof value;
}

function sizeVariables(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Argument({ name, value }) {
      if (value.kind === Kind.VARIABLE && SIZES.has(name.value)) names.add(value.name.value);
    },
  });
  return [...names];
}
