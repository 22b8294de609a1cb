import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  getOperationAST,
} from 'graphql';
import { ForbiddenError } from '../../core/errors.ts';
import { accessOf } from '../../core/graphql/refusable.ts';
import { type Actor, requireAccess } from '../../core/access.ts';

/** The names of the root fields of an operation by response name. `@skip` and `@include` are ignored. */
export function rootFieldsOf(document: DocumentNode, operation: OperationDefinitionNode): ReadonlyMap<string, string> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const fields = new Map<string, string>();
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields.set((selection.alias ?? selection.name).value, selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet);
      else collectFragment(selection.name.value);
    }
  };
  // Each fragment is visited only once. Otherwise fragments that spread others twice would take exponential time.
  const collectFragment = (name: string): void => {
    const fragment = fragments.get(name);
    fragments.delete(name);
    if (fragment) collect(fragment.selectionSet);
  };
  collect(operation.selectionSet);
  return fields;
}

/** The error for the first root field of the operation that the caller has no right to; undefined when they have a right to all. */
export function refusalOfRoot(
  { schema, document, operationName }: Pick<ExecutionArgs, 'schema' | 'document' | 'operationName'>,
  actor: Actor,
): { readonly name: string; readonly fieldName: string; readonly error: ForbiddenError } | undefined {
  const operation = getOperationAST(document, operationName);
  const fields = operation && schema.getRootType(operation.operation)?.getFields();
  if (!operation || !fields) return undefined;
  for (const [name, fieldName] of rootFieldsOf(document, operation)) {
    const access = fields[fieldName] && accessOf(fields[fieldName]);
    try {
      if (access) requireAccess(actor, access);
    } catch (error) {
      if (error instanceof ForbiddenError) return { name, fieldName, error };
    }
  }
  return undefined;
}
