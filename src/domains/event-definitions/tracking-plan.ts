import { LockMode } from '@mikro-orm/postgresql';
import type { ActingOrganization } from '../../core/access.ts';
import { type AuditTarget, auditEntry, recordAudits } from '../../core/audit.ts';
import { ConflictError, type InputFault, ValidationError, invalid, relocated } from '../../core/errors.ts';
import { groupBy, largest } from '../../core/arrays.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { lockOrganization } from '../organizations/public.ts';
import { DEFAULT_PROPERTIES } from './default-properties.ts';
import { EventDefinition } from './entity.ts';
import { definitionNameTaken } from './naming.ts';
import { checkCustomMatching, deleteWithOccurrences, matchingOf, newDefinition } from './operations.ts';
import { EVENT_DEFINITIONS, requireEventDefinitions } from './policy.ts';
import { type ApplyTrackingPlanInput, type PlannedDefinition, applyTrackingPlanInput } from './tracking-plan-input.ts';
import {
  type ComparedProperty,
  type NewPropertyRow,
  type PlannedPropertyRow,
  compareProperties,
  deleteProperties,
  insertProperties,
} from './tracking-plan-queries.ts';

/** The names of the events, by what the plan did to them. */
export interface AppliedTrackingPlan {
  readonly isDryRun: boolean;
  readonly created: string[];
  readonly changed: string[];
  readonly deleted: string[];
  readonly unchanged: string[];
}

interface Applied extends AppliedTrackingPlan {
  /** For the audit log: one for each event. */
  readonly targets: readonly AuditTarget[];
}

/** A planned definition with the stored one, which is undefined if the plan creates it. */
interface Matched {
  readonly planned: PlannedDefinition;
  readonly stored: EventDefinition | undefined;
}

type StoredByName = ReadonlyMap<string, EventDefinition>;

/** What the plan does to one stored definition. */
interface Change {
  readonly definition: EventDefinition;
  readonly planned: PlannedDefinition;
  readonly removed: readonly ComparedProperty[];
  readonly written: readonly NewPropertyRow[];
  readonly changedFields: readonly string[];
}

export const applyTrackingPlan = defineOperation({
  name: 'applyTrackingPlan',
  description:
    'Creates, changes and deletes event definitions with their properties in one transaction. Either the whole plan is applied or nothing. Each event that exists must name the `updatedAt` that you have read, so that no change of somebody else is lost. A property whose type changes is deleted and created again. The name, the primary object, the custom matching id and the default properties of an event never change.',
  access: EVENT_DEFINITIONS,
  input: applyTrackingPlanInput,
  errors: [ConflictError],
  target: ({ targets: [first] }: Applied) => first ?? { type: 'EventDefinition', id: null },
  conflicts: { event_definition_name_unique: () => definitionNameTaken('a name of the plan') },
  run: async (context, plan) => {
    const organization = requireEventDefinitions(context.actor);
    // Definitions of an organization are created one at a time, and two plans would wait for each other's rows.
    await lockOrganization(context.em, organization.id);
    const stored = await lockDefinitions(context, organization, plan);
    requireValid(plan.definitions, stored);
    const deletions = requireCurrent(plan, stored);
    const matched = plan.definitions.map((planned) => ({ planned, stored: stored.get(planned.name) }));
    const changes = await changesOf(context, organization, matched);
    const created = matched.filter((each) => !each.stored).map(({ planned }) => planned);
    const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).toSorted();
    const changedNames = new Set(changes.map(({ planned }) => planned.name));
    const applied = {
      isDryRun: plan.isDryRun,
      created: namesOf(created),
      changed: [...changedNames].toSorted(),
      deleted: namesOf(deletions),
      unchanged: namesOf(plan.definitions.filter(({ name }) => stored.has(name) && !changedNames.has(name))),
    };
    const isEmpty = created.length + changes.length + deletions.length === 0;
    if (plan.isDryRun || isEmpty) return unchanged({ ...applied, targets: [] });
    const createdDefinitions = await create(context, organization, created);
    await change(context, organization, changes);
    for (const definition of deletions) await deleteWithOccurrences(context, definition);
    const targets = [
      ...createdDefinitions.map((definition) => targetOf(definition)),
      ...changes.map(({ definition, changedFields }) => targetOf(definition, changedFields)),
      ...deletions.map((definition) => targetOf(definition)),
    ];
    // Each event has an entry in its history. The operation itself records the first one.
    const entries = targets.slice(1).map((target) => auditEntry(context, 'applyTrackingPlan', target));
    await recordAudits(context.em, entries);
    return { ...applied, targets };
  },
});

const targetOf = ({ id, name }: EventDefinition, changedFields?: readonly string[]): AuditTarget => ({
  type: 'EventDefinition',
  id,
  label: name,
  changedFields,
});

/** Locks the definitions that the plan names, deleted ones included. */
async function lockDefinitions(
  { em }: OperationContext,
  organization: ActingOrganization,
  { definitions, deletions }: ApplyTrackingPlanInput,
): Promise<StoredByName> {
  const names = [...definitions, ...deletions].map(({ name }) => name);
  if (names.length === 0) return new Map();
  const rows = await em.find(
    EventDefinition,
    { organization: organization.id, name: { $in: names } },
    // Senders of occurrences lock in this order too.
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } },
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Reports every fault of every planned definition together. */
function requireValid(definitions: readonly PlannedDefinition[], stored: StoredByName): void {
  const faults = definitions.flatMap((planned, index): InputFault[] => {
    try {
      requireSameIdentity(planned, stored.get(planned.name));
      requireMatchingProperty(planned);
      return [];
    } catch (error) {
      const located = relocated(error, (fault) => ({ ...fault, path: ['definitions', String(index), ...fault.path] }));
      if (located instanceof ValidationError) return [...located.faults];
      throw located;
    }
  });
  if (faults.length > 0) throw new ValidationError(faults);
}

/** @throws ValidationError if custom matching names no property of type string or number of the planned event. */
export function requireMatchingProperty(planned: PlannedDefinition): void {
  checkCustomMatching(matchingOf(planned), [
    ...planned.propertyDefinitions,
    ...(planned.includeDefaultProperties ? DEFAULT_PROPERTIES : []),
  ]);
}

function requireSameIdentity(planned: PlannedDefinition, stored: EventDefinition | undefined): void {
  if (!stored || stored.deletedAt != null) return;
  if (planned.primaryObject !== stored.primaryObject)
    throw invalid(
      'primaryObject',
      `never changes; the primary object of ${stored.name} is ${stored.primaryObject}`,
      'CONFLICTING',
    );
  if (planned.includeDefaultProperties !== stored.includeDefaultProperties)
    throw invalid(
      'includeDefaultProperties',
      `never changes; for ${stored.name} it is ${stored.includeDefaultProperties}`,
      'CONFLICTING',
    );
  const [given, found] = [matchingOf(planned)?.primaryObjectRule, stored.customMatchingId?.primaryObjectRule];
  const isSame =
    given?.eventPropertyName === found?.eventPropertyName &&
    given?.targetObjectPropertyName === found?.targetObjectPropertyName;
  if (!isSame)
    throw invalid(
      'customMatchingId',
      found
        ? `never changes; ${stored.name} matches ${found.targetObjectPropertyName} by ${found.eventPropertyName}`
        : `never changes; ${stored.name} has none`,
      'CONFLICTING',
    );
}

/**
 * @returns the definitions to delete
 * @throws ConflictError if a definition is not in the state that the plan expects
 */
function requireCurrent({ definitions, deletions }: ApplyTrackingPlanInput, stored: StoredByName): EventDefinition[] {
  definitions.forEach(({ name, expectedUpdatedAt }, index) => {
    const found = stored.get(name);
    const path = ['definitions', String(index)];
    if (found && (found.deletedAt != null || expectedUpdatedAt == null)) {
      const taken = definitionNameTaken(name, found.deletedAt != null);
      throw new ConflictError(taken.reason, taken.faults[0].message, [...path, 'name']);
    }
    requireVersion(name, found, expectedUpdatedAt, path);
  });
  return deletions.flatMap(({ name, expectedUpdatedAt }, index) => {
    const found = stored.get(name);
    const present = found?.deletedAt == null ? found : undefined;
    requireVersion(name, present, expectedUpdatedAt, ['deletions', String(index)]);
    return present ?? [];
  });
}

function requireVersion(
  name: string,
  found: EventDefinition | undefined,
  expected: string | null | undefined,
  path: readonly string[],
): void {
  if (expected == null || found?.updatedAt.toISOString() === expected) return;
  const what = found ? `was changed at ${found.updatedAt.toISOString()}` : 'does not exist';
  throw new ConflictError('CHANGED_MEANWHILE', `the event ${name} ${what}; read the plan again and repeat the change`, [
    ...path,
    'expectedUpdatedAt',
  ]);
}

/** The stored definitions that differ from the plan. */
async function changesOf(
  context: OperationContext,
  organization: ActingOrganization,
  matched: readonly Matched[],
): Promise<Change[]> {
  const pairs = matched.flatMap(({ planned, stored }) => (stored ? [{ planned, definition: stored }] : []));
  const compared = await compareProperties(
    context.em,
    organization.id,
    pairs.map(({ definition }) => definition.id),
    pairs.flatMap(({ definition, planned }) => planned.propertyDefinitions.map((each) => plannedRow(definition, each))),
  );
  const byDefinition = groupBy(compared, ({ definitionId }) => definitionId);
  return pairs.flatMap(({ planned, definition }) => {
    const present = byDefinition.get(definition.id) ?? [];
    const kept = new Map(present.filter(({ isSame }) => isSame).map((property) => [property.name, property]));
    const written = propertiesToWrite(context, definition, planned, present).filter(({ name }) => !kept.has(name));
    const removed = present.filter(({ isSame }) => !isSame);
    const changedFields = [
      ...(definition.label === planned.label ? [] : ['label']),
      ...((definition.description ?? null) === (planned.description ?? null) ? [] : ['description']),
      ...(removed.length + written.length === 0 ? [] : ['properties']),
    ];
    return changedFields.length === 0 ? [] : [{ definition, planned, removed, written, changedFields }];
  });
}

const plannedRow = (
  definition: EventDefinition,
  { name, label, type, description, options }: PlannedDefinition['propertyDefinitions'][number],
): PlannedPropertyRow => ({
  definitionId: definition.id,
  name,
  label,
  type,
  description: description ?? null,
  options: options ?? [],
});

/** New properties come after the stored ones. A property with another type is a new one in the place of the old one. */
function propertiesToWrite(
  { newId, now }: OperationContext,
  definition: EventDefinition,
  { propertyDefinitions }: PlannedDefinition,
  present: readonly ComparedProperty[],
): NewPropertyRow[] {
  const found = new Map(present.map((property) => [property.name, property]));
  let last = largest(
    present.map(({ position }) => position),
    -1,
  );
  return propertyDefinitions.map((planned) => {
    const row = plannedRow(definition, planned);
    const old = found.get(planned.name);
    const position = old?.position ?? (last += 1);
    return old?.type === planned.type
      ? { ...row, id: old.id, position, createdAt: old.createdAt }
      : { ...row, id: newId(), position, createdAt: now().toISOString() };
  });
}

async function create(
  context: OperationContext,
  organization: ActingOrganization,
  created: readonly PlannedDefinition[],
): Promise<EventDefinition[]> {
  const pairs = created.map((planned) => ({
    planned,
    definition: newDefinition(context, organization, planned),
  }));
  context.em.persist(pairs.map(({ definition }) => definition));
  // The properties refer to them.
  await context.em.flush();
  const rows = pairs.flatMap(({ planned, definition }) => propertiesToWrite(context, definition, planned, []));
  await insertProperties(context.em, organization.id, rows, context.now());
  return pairs.map(({ definition }) => definition);
}

async function change(
  { em, now }: OperationContext,
  organization: ActingOrganization,
  changes: readonly Change[],
): Promise<void> {
  for (const { definition, planned } of changes)
    definition.update({ label: planned.label, description: planned.description ?? null }, now());
  const removed = changes.flatMap((each) => each.removed);
  await deleteProperties(
    em,
    organization.id,
    removed.map(({ id }) => id),
  );
  await insertProperties(
    em,
    organization.id,
    changes.flatMap(({ written }) => written),
    now(),
  );
}
