import { randomUUID } from 'node:crypto';
import type { Cases } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const occurrence = ({ eventNames: [eventName] }: References) => ({
  eventName,
  properties: {},
  email: 'somebody@example.com',
});
const occurrences = (to: References) => ({ inputs: [occurrence(to)] });

export const eventOccurrences: Cases = {
  sendEventOccurrence: { body: occurrence, target: 'EventDefinition' },
  sendEventOccurrences: { input: occurrences, body: occurrences, target: 'EventDefinition' },
  deleteObjectOccurrences: {
    input: () => ({ email: 'nobody@example.com' }),
    body: () => ({ email: 'nobody@example.com' }),
    creates: 'DeletionJob',
  },
  registerObjectIdentifiers: {
    isOnlyInGraphQL: true,
    input: () => ({
      objectType: 'CONTACT',
      propertyName: 'badge',
      identifiers: [{ value: randomUUID(), objectId: '1' }],
    }),
    target: 'ObjectIdentifier',
    targetId: () => null,
  },
  // Ids of other organizations are ignored; rules.test.ts checks that their identifiers remain.
  removeObjectIdentifiers: {
    isOnlyInGraphQL: true,
    input: (to) => ({ ids: [to.identifierId] }),
    target: 'ObjectIdentifier',
  },
};
