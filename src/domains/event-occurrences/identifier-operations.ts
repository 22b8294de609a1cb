import type { OrganizationId } from '../../core/ids.ts';
import type { CountedPage } from '../../core/postgres/reading/keyset.ts';
import type { Columns } from '../../core/postgres/reading/columns.ts';
import { requireAccess, requireOrganization } from '../../core/access.ts';
import { type OperationContext, unchanged, write } from '../../core/operation.ts';
import type { RegisterObjectIdentifiersInput, RemoveObjectIdentifiersInput } from './identifier-input.ts';
import {
  type ObjectIdentifierList,
  type ObjectIdentifierRow,
  countIdentifiers,
  deleteIdentifiers,
  findIdentifiers,
  pageOfIdentifiers,
  storeIdentifiers,
} from './identifier-queries.ts';
import { READ_IDENTIFIERS, SEND_OCCURRENCES } from './policy.ts';

/**
 * Registers which record has which value of a unique property. Custom matching then links new occurrences to the record
 * whose value equals the value of the event property; numbers are compared in decimal notation. A value that is already
 * registered moves to the given record. Stored occurrences do not change.
 */
export const registerObjectIdentifiers = write(
  async (context, input: RegisterObjectIdentifiersInput) => {
    await storeIdentifiers(context, requireOrganization(context.actor).id, input);
    return { registeredCount: input.identifiers.length };
  },
  {
    access: SEND_OCCURRENCES,
    operation: 'registerObjectIdentifiers',
    target: () => ({ type: 'ObjectIdentifier', id: null }),
  },
);

/** Removes identifiers; custom matching then no longer finds their records. Ids that the organization does not have are ignored. */
export const removeObjectIdentifiers = write(
  async ({ em, actor }, { ids }: RemoveObjectIdentifiersInput) => {
    const removedIds = await deleteIdentifiers(em, requireOrganization(actor).id, ids);
    return removedIds.length === 0 ? unchanged({ removedIds }) : { removedIds };
  },
  {
    access: SEND_OCCURRENCES,
    operation: 'removeObjectIdentifiers',
    target: ({ removedIds: [id = null, ...others] }) => ({
      type: 'ObjectIdentifier',
      id: others.length > 0 ? null : id,
    }),
  },
);

/** A page of the identifiers of an organization. @throws ValidationError (400) when it is not the acting organization. */
export async function listObjectIdentifiers(
  context: OperationContext,
  organizationId: OrganizationId,
  list: ObjectIdentifierList,
): Promise<CountedPage<ObjectIdentifierRow>> {
  requireAccess(context.actor, READ_IDENTIFIERS, organizationId);
  return { page: await pageOfIdentifiers(context, list), total: () => countIdentifiers(context, list.filter) };
}

/** The identifiers with these ids that the caller can see, in any order. */
export async function readObjectIdentifiers(
  context: OperationContext,
  ids: readonly string[],
  selected?: Columns<ObjectIdentifierRow>,
): Promise<ObjectIdentifierRow[]> {
  requireAccess(context.actor, READ_IDENTIFIERS);
  return findIdentifiers(context, ids, selected);
}
