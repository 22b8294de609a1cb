// What other nouns, the gateway and the operator use of event definitions.

export { fullyQualifiedName } from './computed-fields.ts';
export { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
export { EventDefinition, type EventDefinitionTables, EventProperty, primaryObjectOf } from './entity.ts';
export { createEventDefinitionInput } from './input.ts';
export { NAME_PATTERN } from './naming.ts';
export { createEventDefinition, deleteDefinitionRow, lockDefinitionsOf, organizationOfDeleted } from './operations.ts';
export type { PropertyType } from './property-types.ts';
export { EVENT_DEFINITIONS, definitionsOf, requireEventDefinitions } from './policy.ts';
export type { EventDefinitionRow } from './queries.ts';
export { listEventTypes, requireEventDefinition } from './read-operations.ts';
export { type SharedDefinition, shareDefinitions } from './row-locks.ts';
export { applyTrackingPlan, requireMatchingProperty } from './tracking-plan.ts';
export {
  MAX_PLANNED_DEFINITIONS,
  type PlannedDefinition,
  applyTrackingPlanInput,
  plannedDefinition,
} from './tracking-plan-input.ts';
