import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { ConflictError, NotFoundError, type ObjectReference, invalid, nameTaken, notFound } from '../../core/errors.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { givenNames } from '../../core/keys-of.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
import { type EventDefinition, EventProperty } from './entity.ts';
import { freePropertyName } from './naming.ts';
import {
  AT_LEAST_ONE_OPTION,
  MAX_CUSTOM_PROPERTIES,
  type PropertyDefinition,
  type UpdateEventPropertyInput,
  addEventPropertyInput,
  eventPropertyReference,
  replaceEventPropertyTypeInput,
  updateEventPropertyInput,
} from './property-input.ts';
import { EVENT_DEFINITIONS } from './policy.ts';
import { lockDefinition } from './row-locks.ts';
import { largest } from '../../core/arrays.ts';

type PropertyContext = Pick<OperationContext, 'em' | 'now' | 'newId'>;

/** The properties of a new definition. Generated names avoid the given ones. */
export function newProperties(
  definition: EventDefinition,
  inputs: readonly PropertyDefinition[],
  context: PropertyContext,
): EventProperty[] {
  const taken = new Set(inputs.flatMap(({ name }) => name ?? []));
  return inputs.map((input, index) => {
    const name = input.name ?? freePropertyName(input.label, taken);
    taken.add(name);
    return newProperty(definition, { ...input, name }, index, context);
  });
}

function newProperty(
  definition: EventDefinition,
  input: PropertyDefinition & { name: string },
  position: number,
  { em, now, newId }: PropertyContext,
): EventProperty {
  const at = now();
  return em.create(EventProperty, {
    id: newId(),
    organization: definition.organization,
    definition,
    name: input.name,
    label: input.label,
    type: input.type,
    description: input.description ?? null,
    options: input.options ?? [],
    position,
    createdAt: at,
    updatedAt: at,
  });
}

/** The definition is locked, so that concurrent requests cannot exceed the maximum of properties. */
export const addEventProperty = defineOperation({
  name: 'addEventProperty',
  description:
    'Adds a custom property to an event definition. A definition has at most 50 custom properties. Without `name`, a name is generated from the label. `options` is required for enumerations and not allowed for other types.',
  access: EVENT_DEFINITIONS,
  input: addEventPropertyInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { eventName, ...input }) => {
    const { em } = context;
    const definition = await lockDefinition(context, eventName);
    const present = await em.find(EventProperty, { definition });
    const names = new Set(present.map(({ name }) => name));
    if (input.name !== undefined && names.has(input.name))
      throw nameTaken(input.name, 'another property of this event definition');
    if (present.length >= MAX_CUSTOM_PROPERTIES) {
      throw invalid(
        '',
        `an event definition has at most ${MAX_CUSTOM_PROPERTIES} custom properties; delete one first`,
        'TOO_MANY',
        MAX_CUSTOM_PROPERTIES,
      );
    }
    const name = input.name ?? freePropertyName(input.label, names);
    const position =
      largest(
        present.map((property) => property.position),
        -1,
      ) + 1;
    const property = newProperty(definition, { ...input, name }, position, context);
    em.persist(property);
    definition.touch(context.now());
    return { definition, property };
  },
  target: targetOf,
});

function propertyReferenceOf(definition: EventDefinition, { name }: EventProperty): ObjectReference {
  return { type: 'EventProperty', key: `${definition.id}:${name}` };
}

/** The audit log entry names the definition and not the property. */
function targetOf({ definition }: { definition: EventDefinition }): AuditTarget {
  return { type: 'EventDefinition', id: definition.id, label: definition.name };
}

export const updateEventProperty = defineOperation({
  name: 'updateEventProperty',
  description:
    'Updates the label, the description, and the options of a property. Only an enumeration has options; a removed option stays valid for past occurrences. The type of a property never changes.',
  access: EVENT_DEFINITIONS,
  input: updateEventPropertyInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { eventName, name, expectedUpdatedAt, ...given }) => {
    const { definition, property } = await loadProperty(context, eventName, name, 'changed');
    const changes = { ...given, options: newOptions(property, given.options) };
    requireUnchanged(property, { expectedUpdatedAt }, propertyReferenceOf(definition, property));
    if (isEmptyUpdate(changes)) return unchanged({ definition, property });
    property.update(changes, context.now());
    definition.touch(context.now());
    return { definition, property };
  },
  target: (changed, { eventName: _event, name: _name, expectedUpdatedAt: _expected, ...changes }) => ({
    ...targetOf(changed),
    changedFields: givenNames(changes),
  }),
});

/** For other types than enumerations an empty list is accepted, because answers contain it. */
function newOptions({ name, type }: EventProperty, given: UpdateEventPropertyInput['options']) {
  if (type === 'enumeration' && given?.length === 0) throw invalid('options', AT_LEAST_ONE_OPTION, 'TOO_FEW', 1);
  if (type === 'enumeration' || given === undefined) return given;
  if (given.length > 0)
    throw invalid(
      'options',
      wording`is allowed only for the type ${enumValue('enumeration')}; ${name} is of type ${enumValue(type)}`,
      'CONFLICTING',
    );
  return undefined;
}

export const deleteEventProperty = defineOperation({
  name: 'deleteEventProperty',
  description:
    'Deletes a custom property. Past occurrences keep their values, and the name can be used again. A property that the custom matching of the definition uses cannot be deleted. Neither can default properties.',
  access: EVENT_DEFINITIONS,
  input: eventPropertyReference,
  errors: [NotFoundError, ConflictError],
  run: async (context, { eventName, name }) => {
    const { definition, property } = await loadProperty(context, eventName, name, 'deleted');
    if (definition.matchesBy(property.name)) {
      throw new ConflictError(
        'IN_USE',
        `property ${property.name} is used by the custom matching of this event definition and cannot be deleted`,
      );
    }
    context.em.remove(property);
    definition.touch(context.now());
    return { definition, property };
  },
  target: targetOf,
});

export const replaceEventPropertyType = defineOperation({
  name: 'replaceEventPropertyType',
  description:
    'Changes the type of a property: deletes the property and creates it again with the same name, in one transaction. Past occurrences keep their values. Label and description do not change unless new ones are given.',
  access: EVENT_DEFINITIONS,
  input: replaceEventPropertyTypeInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => {
    const { em } = context;
    const { definition, property } = await loadProperty(context, input.eventName, input.name, 'replaced');
    requireUnchanged(property, input, propertyReferenceOf(definition, property));
    if (definition.matchesBy(property.name) && input.type !== 'string' && input.type !== 'number') {
      throw new ConflictError(
        'IN_USE',
        wording`property ${property.name} is used by the custom matching of this event definition, which needs the type ${enumValues(['string', 'number'], ' or ')}`,
      );
    }
    em.remove(property);
    // The name is unique, so the old row must be deleted before the insert.
    await em.flush();
    const replacement = newProperty(
      definition,
      {
        name: property.name,
        type: input.type,
        label: input.label ?? property.label,
        description:
          input.description === undefined ? (property.description ?? undefined) : (input.description ?? undefined),
        options: input.options,
      },
      property.position,
      context,
    );
    em.persist(replacement);
    definition.touch(context.now());
    return { definition, property: replacement };
  },
  target: (replaced) => ({ ...targetOf(replaced), detail: replaced.property.type }),
});

async function loadProperty(context: OperationContext, eventName: string, given: string, what: string) {
  const name = propertyMeantBy(given);
  const definition = await lockDefinition(context, eventName);
  if (definition.includeDefaultProperties && DEFAULT_PROPERTIES.some((property) => property.name === name)) {
    throw invalid('name', `${name} is a default property, which cannot be ${what}`);
  }
  const property = given.includes('\0') ? null : await context.em.findOne(EventProperty, { definition, name: given });
  if (!property) throw notFound('event property');
  return { definition, property };
}
