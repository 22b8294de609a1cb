import { type InferKyselyDB, type Opt, defineEntity, p } from '@mikro-orm/postgresql';
import type { EventDefinitionId, EventPropertyId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';
import { PROPERTY_TYPES, type PropertyOption } from './property-types.ts';

/** The standard primary objects. The name of a custom object is allowed too (Custom Event Definition API, section 2.1). */
export const PRIMARY_OBJECTS = [
  'APPOINTMENT',
  'COMPANY',
  'CONTACT',
  'COURSE',
  'DEAL',
  'LEAD',
  'LISTING',
  'ORDER',
  'PROJECT',
  'SERVICE',
  'TICKET',
  'NO_OBJECT',
] as const;

/** Existing clients also write `contact` and `companies`: a standard object in any case, singular or plural. Undefined for a custom object. */
export function standardObject(name: string): (typeof PRIMARY_OBJECTS)[number] | undefined {
  const forms = new Set([name, name.replace(/s$/i, ''), name.replace(/ies$/i, 'y')].map((each) => each.toUpperCase()));
  return PRIMARY_OBJECTS.find((standard) => forms.has(standard));
}

/** The object that a name means, for whoever writes or reads it: a standard object as it is listed, or a custom object as it is given. */
export const primaryObjectOf = (name: string): string => standardObject(name) ?? name;

export interface CustomMatchingId {
  readonly primaryObjectRule: { readonly targetObjectPropertyName: string; readonly eventPropertyName: string };
}

const EventDefinitionSchema = defineEntity({
  name: 'EventDefinition',
  tableName: 'event_definition',
  properties: {
    id: p.uuid().$type<EventDefinitionId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** A number that is unique over all organizations. The object type id is `6-<number>`. */
    number: p.integer().generated('identity').$type<Opt<number>>(),
    name: p.text(),
    label: p.text(),
    description: p.text().nullable(),
    primaryObject: p.text(),
    customMatchingId: p.json<CustomMatchingId>().nullable(),
    includeDefaultProperties: p.boolean(),
    /** Who can delete it, if the organization lets creators alone; null for those of earlier versions, and when the account is deleted. */
    creator: () => p.manyToOne(User).nullable().deleteRule('set null'),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** Time of deletion. The row of a deleted definition stays, because its name can never be used again. */
    deletedAt: p.datetime().nullable(),
  },
  uniques: [
    { name: 'event_definition_name_unique', properties: ['organization', 'name'] },
    { name: 'event_definition_number_unique', properties: ['number'] },
  ],
  indexes: [
    { name: 'event_definition_creator_index', properties: ['creator'] },
    { name: 'event_definition_created_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'event_definition_updated_index', properties: ['organization', 'updatedAt', 'id'] },
  ],
});

/** The schema of a custom event. Its name and primary object never change. */
export class EventDefinition extends EventDefinitionSchema.class {
  update(changes: { label?: string; description?: string | null }, at: Date): void {
    if (changes.label !== undefined) this.label = changes.label;
    if (changes.description !== undefined) this.description = changes.description;
    this.touch(at);
  }

  /** Call when a property changes, so that `updatedAt` is the version of the definition with its properties. */
  touch(at: Date): void {
    this.updatedAt = at;
  }

  delete(at: Date): void {
    this.deletedAt = at;
    this.touch(at);
  }

  /** Whether custom matching links occurrences by the value of this property. */
  matchesBy(propertyName: string): boolean {
    return this.customMatchingId?.primaryObjectRule.eventPropertyName === propertyName;
  }
}
EventDefinitionSchema.setClass(EventDefinition);

const EventPropertySchema = defineEntity({
  name: 'EventProperty',
  tableName: 'event_property',
  properties: {
    id: p.uuid().$type<EventPropertyId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    definition: () => p.manyToOne(EventDefinition).deleteRule('cascade'),
    name: p.text(),
    label: p.text(),
    type: p.enum(PROPERTY_TYPES),
    description: p.text().nullable(),
    options: p.json<readonly PropertyOption[]>(),
    /** Order of creation within the definition, from 0. Deleted properties leave gaps. */
    position: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'event_property_name_unique', properties: ['definition', 'name'] }],
});

/** A custom property of a definition. Default properties are not stored, because they are the same for every definition. */
export class EventProperty extends EventPropertySchema.class {
  update(
    changes: { label?: string; description?: string | null; options?: readonly PropertyOption[] },
    at: Date,
  ): void {
    if (changes.label !== undefined) this.label = changes.label;
    if (changes.description !== undefined) this.description = changes.description;
    if (changes.options !== undefined) this.options = changes.options;
    this.updatedAt = at;
  }
}
EventPropertySchema.setClass(EventProperty);

export type EventDefinitionTables = InferKyselyDB<typeof EventDefinitionSchema | typeof EventPropertySchema>;
export const EVENT_DEFINITION_COLUMNS = columnNames<EventDefinitionTables, 'event_definition'>(
  EventDefinitionSchema,
  'event_definition',
);
export const EVENT_PROPERTY_COLUMNS = columnNames<EventDefinitionTables, 'event_property'>(
  EventPropertySchema,
  'event_property',
);
