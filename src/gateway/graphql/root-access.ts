import { type ExecutionArgs, getOperationAST } from 'graphql';
import { ForbiddenError } from '../../core/errors.ts';
import { accessOf } from '../../core/graphql/refusable.ts';
import { type Actor, requireAccess } from '../../core/access.ts';
import { rootFieldsOf } from './root-fields.ts';

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
