import { inputType } from '../../../core/graphql/derived-inputs.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { applyTrackingPlan } from '../tracking-plan.ts';
import { plannedDefinition, plannedDeletion, plannedProperty } from '../tracking-plan-input.ts';
import './operations.ts';

inputType('PlannedEventPropertyInput', plannedProperty);
// As in REST, it can be the name of a custom object.
inputType('PlannedEventDefinitionInput', plannedDefinition, { types: { primaryObject: 'String' } });
inputType('PlannedEventDeletionInput', plannedDeletion);

mutation(applyTrackingPlan, {
  payload: (t) => ({
    isDryRun: t.exposeBoolean('isDryRun', {
      description: 'Whether nothing was changed because a check was asked for.',
    }),
    created: t.exposeStringList('created', { description: 'Names of the events that did not exist.' }),
    changed: t.exposeStringList('changed', { description: 'Names of the events that differed.' }),
    deleted: t.exposeStringList('deleted', { description: 'Names of the deleted events.' }),
    unchanged: t.exposeStringList('unchanged', { description: 'Names of the events that were already as planned.' }),
  }),
});
