import { randomUUID } from 'node:crypto';
import type { Cases, OperationCase } from '../../support/operations/cases.ts';
import type { References } from '../../support/operations/references.ts';

const ofEvent = ({ eventNames: [eventName] }: References) => ({ eventName });
const ofProperty = ({ eventNames: [eventName], property: name }: References) => ({ eventName, name });
const plan = () => ({ definitions: [{ name: `event_${randomUUID().replaceAll('-', '_')}`, label: 'Planned' }] });
const plannedId: OperationCase['targetId'] = async (_, { created }, { dependencies: { sql } }) => {
  const [row] = await sql.query<{ id: string }>('select id from event_definition where name = any($1)', [created]);
  return row?.id ?? '';
};

export const eventDefinitions: Cases = {
  createEventDefinition: {
    input: () => ({ label: `Event ${randomUUID()}` }),
    body: () => ({ label: `Event ${randomUUID()}` }),
    creates: 'EventDefinition',
  },
  updateEventDefinition: {
    input: (to) => ({ ...ofEvent(to), label: 'Paid' }),
    target: 'EventDefinition',
  },
  deleteEventDefinition: { input: ofEvent, target: 'EventDefinition' },
  addEventProperty: {
    input: (to) => ({ ...ofEvent(to), label: `Note ${randomUUID()}`, type: 'STRING' }),
    target: 'EventDefinition',
  },
  updateEventProperty: {
    input: (to) => ({ ...ofProperty(to), label: 'Remark' }),
    body: ({ property }) => ({ name: property, label: 'Remark' }),
    target: 'EventDefinition',
    versionOf: 'EventProperty',
  },
  updateEventPropertyByPath: {
    body: () => ({ label: 'Tariff' }),
    operation: 'updateEventProperty',
    target: 'EventDefinition',
  },
  replaceEventPropertyType: {
    isOnlyInGraphQL: true,
    input: (to) => ({ ...ofProperty(to), type: 'NUMBER' }),
    target: 'EventDefinition',
    versionOf: 'EventProperty',
  },
  deleteEventProperty: { input: ofProperty, target: 'EventDefinition' },
  // Names only events of the acting organization. See tracking-plan.test.ts.
  applyTrackingPlan: { input: plan, body: plan, target: 'EventDefinition', targetId: plannedId },
};
