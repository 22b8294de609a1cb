import { ConflictError } from './errors.ts';
import { momentInput } from './moment-input.ts';

/** The `updatedAt` that the client read. A change is refused when the stored value is another one. */
export const expectedUpdatedAtInput = momentInput().nullish();

/** What the input field of a mutation says. */
export const EXPECTED_UPDATED_AT =
  'The `updatedAt` that was read: a `ConflictError` with the reason `CHANGED_MEANWHILE` when the stored one is another.';

/**
 * Optimistic concurrency: a client sends the `updatedAt` that it has read, and its change is refused when somebody else's came before.
 * Call it with the row locked.
 * @throws ConflictError (409) for another moment than the stored one.
 */
export function requireUnchanged(
  { updatedAt }: { readonly updatedAt: Date },
  { expectedUpdatedAt }: { readonly expectedUpdatedAt?: string | null | undefined },
): void {
  if (expectedUpdatedAt == null || updatedAt.toISOString() === expectedUpdatedAt) return;
  throw new ConflictError(
    'CHANGED_MEANWHILE',
    `the object was changed at ${updatedAt.toISOString()}; read it again and repeat the change`,
    ['expectedUpdatedAt'],
  );
}
