import { enumValue, enumValues, wording } from '../../core/text/wording.ts';
import { ConflictError, invalid, nameTaken, notFound } from '../../core/errors.ts';
import { type OperationContext, unchanged, write } from '../../core/operation.ts';
import { type AuditTarget } from '../../core/audit.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import { DEFAULT_PROPERTIES, propertyMeantBy } from './default-properties.ts';
import { type EventDefinition, EventProperty } from './entity.ts';
import { freePropertyName } from './naming.ts';
import {
  AT_LEAST_ONE_OPTION,
  type AddEventPropertyInput,
  type EventPropertyReference,
  MAX_CUSTOM_PROPERTIES,
  type PropertyDefinition,
  type ReplaceEventPropertyTypeInput,
  type UpdateEventPropertyInput,
} from './property-input.ts';
import { EVENT_DEFINITIONS } from './policy.ts';
import { lockDefinition } from './row-locks.ts';

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

/**
 * Adds a custom property. The definition is locked, so that concurrent requests cannot exceed the maximum of 50 properties.
 * @throws ConflictError when the given name is taken; ValidationError when the definition has 50 properties.
 */
export const addEventProperty = write(
  async (context, { eventName, ...input }: AddEventPropertyInput) => {
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
    const position = Math.max(-1, ...present.map((property) => property.position)) + 1;
    const property = newProperty(definition, { ...input, name }, position, context);
    em.persist(property);
    return { definition, property };
  },
  { access: EVENT_DEFINITIONS, operation: 'addEventProperty', target: targetOf },
);

/** The audit log entry names the definition and not the property. */
function targetOf({ definition }: { definition: EventDefinition }): AuditTarget {
  return { type: 'EventDefinition', id: definition.id };
}

/**
 * Changes the label, the description, and the options of an enumeration. The name and the type never change.
 * @throws ConflictError when the property was changed since `expectedUpdatedAt`.
 */
export const updateEventProperty = write(
  async (context, { eventName, name, expectedUpdatedAt, ...given }: UpdateEventPropertyInput) => {
    const { definition, property } = await loadProperty(context, eventName, name, 'changed');
    const changes = { ...given, options: newOptions(property, given.options) };
    requireUnchanged(property, { expectedUpdatedAt });
    if (isEmptyUpdate(changes)) return unchanged({ definition, property });
    property.update(changes, context.now());
    return { definition, property };
  },
  { access: EVENT_DEFINITIONS, operation: 'updateEventProperty', target: targetOf },
);

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

/**
 * Deletes a custom property. New occurrences cannot contain it; past occurrences keep their values. The name is free again.
 * @throws ConflictError while custom matching uses the property.
 */
export const deleteEventProperty = write(
  async (context, { eventName, name }: EventPropertyReference) => {
    const { definition, property } = await loadProperty(context, eventName, name, 'deleted');
    if (definition.matchesBy(property.name)) {
      throw new ConflictError(
        'IN_USE',
        `property ${property.name} is used by the custom matching of this event definition and cannot be deleted`,
      );
    }
    context.em.remove(property);
    return { definition, property };
  },
  { access: EVENT_DEFINITIONS, operation: 'deleteEventProperty', target: targetOf },
);

/**
 * Changes the type of a property: deletes it and creates it again with the same name and position, in one transaction.
 * Label and description stay unless new ones are given.
 * @throws ConflictError when custom matching uses the property and the new type is neither string nor number.
 */
export const replaceEventPropertyType = write(
  async (context, input: ReplaceEventPropertyTypeInput) => {
    const { em } = context;
    const { definition, property } = await loadProperty(context, input.eventName, input.name, 'replaced');
    requireUnchanged(property, input);
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
    return { definition, property: replacement };
  },
  { access: EVENT_DEFINITIONS, operation: 'replaceEventPropertyType', target: targetOf },
);

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
