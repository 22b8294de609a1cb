import { requireOrganization } from '../../core/access.ts';
import { defineOperation, guarded, unchanged } from '../../core/operation.ts';
import { registerObjectIdentifiersInput, removeObjectIdentifiersInput } from './identifier-input.ts';
import { IDENTIFIERS, deleteIdentifiers, storeIdentifiers } from './identifier-queries.ts';
import { READ_IDENTIFIERS, SEND_OCCURRENCES } from './policy.ts';

export const registerObjectIdentifiers = defineOperation({
  name: 'registerObjectIdentifiers',
  description:
    'Registers which record has which value of a unique property. Custom matching then links new occurrences to the record whose value equals the value of the event property; numbers are compared in decimal notation. A value that is already registered moves to the given record. Stored occurrences do not change.',
  access: SEND_OCCURRENCES,
  input: registerObjectIdentifiersInput,
  run: async (context, input) => {
    await storeIdentifiers(context, requireOrganization(context.actor).id, input);
    return { registeredCount: input.identifiers.length };
  },
  target: () => ({ type: 'ObjectIdentifier', id: null }),
});

export const removeObjectIdentifiers = defineOperation({
  name: 'removeObjectIdentifiers',
  description:
    'Removes registered identifiers; custom matching then no longer finds their records. Stored occurrences stay linked to their records.',
  access: SEND_OCCURRENCES,
  input: removeObjectIdentifiersInput,
  run: async ({ em, actor }, { ids }) => {
    const removedIds = await deleteIdentifiers(em, requireOrganization(actor).id, ids);
    return removedIds.length === 0 ? unchanged({ removedIds }) : { removedIds };
  },
  target: ({ removedIds: [id = null, ...others] }) => ({
    type: 'ObjectIdentifier',
    id: others.length > 0 ? null : id,
  }),
});

export const listObjectIdentifiers = defineOperation({
  name: 'listObjectIdentifiers',
  description:
    'Lists the identifiers that were registered with `registerObjectIdentifiers`, by type, property and value by default.',
  access: READ_IDENTIFIERS,
  run: IDENTIFIERS.read,
});

/** The identifiers with these ids that the caller can see, in any order. */
export const readObjectIdentifiers = guarded(READ_IDENTIFIERS, IDENTIFIERS.find);
