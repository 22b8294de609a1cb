import { type DocumentNode, Kind, type OperationDefinitionNode, getOperationAST, visit } from 'graphql';
import { type CostedRequest, SIZE_ARGUMENTS, checkCost } from './cost.ts';

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

function sizeVariables(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Argument({ name, value }) {
      if (value.kind === Kind.VARIABLE && SIZES.has(name.value)) names.add(value.name.value);
    },
  });
  return [...names];
}
