import { type DocumentNode, type ExecutionResult, Kind, type OperationDefinitionNode } from 'graphql';

/** The parameter `onError` of a request: what an error does to the parents of its field (graphql-spec, pull request 1163). */
export const ERROR_BEHAVIORS = ['PROPAGATE', 'NULL', 'HALT'] as const;
export type ErrorBehavior = (typeof ERROR_BEHAVIORS)[number];

/** The directive of graphql-js, which its package does not export. */
const DISABLES_PROPAGATION = 'experimental_disableErrorPropagation';

const known = new WeakMap<DocumentNode, DocumentNode>();

/** The document whose errors make only their own field null. graphql-js knows it by a directive of its operations. */
export function withoutPropagation(document: DocumentNode): DocumentNode {
  let changed = known.get(document);
  if (!changed) {
    const definitions = document.definitions.map((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? withDirective(node) : node,
    );
    known.set(document, (changed = { ...document, definitions }));
  }
  return changed;
}

const withDirective = (operation: OperationDefinitionNode): OperationDefinitionNode => ({
  ...operation,
  directives: [
    ...(operation.directives ?? []),
    { kind: Kind.DIRECTIVE, name: { kind: Kind.NAME, value: DISABLES_PROPAGATION } },
  ],
});

/** The answer of a halted request: its first error, and no data. Errors of the request itself are all answered. */
export function halted<Result extends ExecutionResult>(result: Result): Result {
  const [error] = result.errors ?? [];
  return error && result.data !== undefined ? { ...result, data: null, errors: [error] } : result;
}
