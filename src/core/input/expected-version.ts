import { ConflictError, type ObjectReference } from '../errors.ts';
import { momentInput } from './moments.ts';

export const EXPECTED_UPDATED_AT =
  'The `updatedAt` that you have read. If the stored one differs, nothing is changed, and the answer is a conflict: the status 409 in REST, the reason `CHANGED_MEANWHILE` in GraphQL.';

/** The `updatedAt` that the client has read. If the stored value differs, the change is refused. */
export const expectedUpdatedAtInput = momentInput().nullish().describe(EXPECTED_UPDATED_AT);

/**
 * Optimistic concurrency control: the client sends the `updatedAt` that it has read, and its change is refused if somebody else changed the
 * object since. Call it with the row locked.
 * @throws ConflictError (409) if the stored time differs.
 */
export function requireUnchanged(
  { updatedAt }: { readonly updatedAt: Date },
  { expectedUpdatedAt }: { readonly expectedUpdatedAt?: string | null | undefined },
  object: ObjectReference,
): void {
  if (expectedUpdatedAt == null || updatedAt.toISOString() === expectedUpdatedAt) return;
  throw new ConflictError(
    'CHANGED_MEANWHILE',
    `the object was changed at ${updatedAt.toISOString()}; read it again and repeat the change`,
    ['expectedUpdatedAt'],
    { current: object },
  );
}

/** Whether an update names no field to change. */
export const isEmptyUpdate = (changes: object): boolean => Object.values(changes).every((value) => value === undefined);
