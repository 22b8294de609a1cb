import { z } from 'zod';
import { momentInput } from '../../core/input/moments.ts';
import { rule, withDefault } from '../../core/input/validation.ts';
import { createEventDefinitionInput, matchingHasRecords } from './input.ts';
import { MAX_CUSTOM_PROPERTIES, optionsFitType, propertyDefinition, propertyName } from './property-input.ts';
import { type Unchecked, evenWithFaults, nameInput } from './shared-input.ts';

/** Maximum number of event definitions that one tracking plan can change, and of those that it can delete. */
export const MAX_PLANNED_DEFINITIONS = 250;

const NAME_IN_PLAN = 'Name of the event, which identifies it in the plan. It never changes.';

export const plannedProperty = z
  .strictObject({
    ...propertyDefinition.shape,
    name: propertyName.describe('Name of the property, which identifies it within the event.'),
  })
  .superRefine(optionsFitType, evenWithFaults)
  .describe('A custom property of a planned event.');

/** Reports every name that occurs twice in a list of objects. */
function uniqueNames(list: readonly (Unchecked<'name'> | null)[], context: z.RefinementCtx): void {
  const seen = new Set<unknown>();
  list.forEach((item, index) => {
    const name = item?.name;
    if (typeof name === 'string' && seen.has(name))
      context.addIssue({ code: 'custom', path: [index, 'name'], ...rule('DUPLICATE', `${name} occurs twice`) });
    seen.add(name);
  });
}

const listOfNamed = { when: ({ value }: { value: unknown }) => Array.isArray(value) };

export const plannedDefinition = z
  .strictObject({
    ...createEventDefinitionInput.shape,
    name: nameInput.describe(NAME_IN_PLAN),
    propertyDefinitions: withDefault(
      z.array(plannedProperty).max(MAX_CUSTOM_PROPERTIES).superRefine(uniqueNames, listOfNamed),
      [],
    ).describe('All custom properties that the event will have. Stored ones that are absent here are deleted.'),
    expectedUpdatedAt: momentInput()
      .nullish()
      .describe('The `updatedAt` that you have read. Null or absent if the event does not exist yet.'),
  })
  .superRefine(matchingHasRecords, evenWithFaults)
  .describe('The state that an event definition will have.');
export type PlannedDefinition = z.output<typeof plannedDefinition>;

export const plannedDeletion = z
  .strictObject({
    name: nameInput.describe('Name of the event.'),
    expectedUpdatedAt: momentInput().describe('The `updatedAt` that you have read.'),
  })
  .describe('An event definition to delete.');

/** An event is either planned or deleted. */
function deletesNothingPlanned(given: Unchecked<'definitions' | 'deletions'>, context: z.RefinementCtx): void {
  const namesOf = (list: unknown) =>
    (Array.isArray(list) ? list : []).map((item: Unchecked<'name'> | null) => item?.name);
  const planned = new Set(namesOf(given.definitions));
  namesOf(given.deletions).forEach((name, index) => {
    if (typeof name === 'string' && planned.has(name))
      context.addIssue({
        code: 'custom',
        path: ['deletions', index, 'name'],
        ...rule('CONFLICTING', `${name} is also one of the definitions`),
      });
  });
}

export const applyTrackingPlanInput = z
  .strictObject({
    definitions: withDefault(
      z.array(plannedDefinition).max(MAX_PLANNED_DEFINITIONS).superRefine(uniqueNames, listOfNamed),
      [],
    ).describe('The events to create or change. Other events stay as they are.'),
    deletions: withDefault(
      z.array(plannedDeletion).max(MAX_PLANNED_DEFINITIONS).superRefine(uniqueNames, listOfNamed),
      [],
    ).describe('The events to delete.'),
    isDryRun: withDefault(z.boolean(), false).describe('Whether to check the plan and change nothing.'),
  })
  .superRefine(deletesNothingPlanned, evenWithFaults);
export type ApplyTrackingPlanInput = z.output<typeof applyTrackingPlanInput>;
