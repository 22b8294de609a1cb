import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import type { OperationContext } from '../../core/operation.ts';
import { requireOrganization } from '../../core/access.ts';
import {
  DEFAULT_ROWS,
  GROUP_NAME,
  displayOrder,
  fullyQualifiedName,
  isDefault,
  objectTypeId,
} from './computed-fields.ts';
import { FIELD_TYPE_OF, PROPERTY_TYPES } from './property-types.ts';
import type { EventDefinitionRow } from './queries.ts';
import type { EventPropertyRow } from './property-queries.ts';
import {
  EVENT_DEFINITION_TEXTS,
  EVENT_PROPERTY_TEXTS,
  LABELS_TEXTS,
  LIST_TEXTS,
  MATCHING_TEXTS,
  NEXT_TEXTS,
  OPTION_TEXTS,
  RULE_TEXTS,
} from './texts.ts';

/**
 * The JSON documents of the REST API. A client can send all fields that are not read-only to create the same object,
 * and `label`, `description` and `options` to update it. Descriptions are text, empty where there is none, because
 * existing clients require text.
 */

const readOnly = { readOnly: true };

const optionDocument = documentOf(OPTION_TEXTS, {
  label: z.string(),
  value: z.string(),
  displayOrder: z.int(),
  hidden: z.boolean(),
  description: z.string(),
});

export const propertyDocument = documentOf(EVENT_PROPERTY_TEXTS, {
  name: z.string(),
  label: z.string(),
  type: z.enum(PROPERTY_TYPES),
  fieldType: z.enum(['radio', 'date', 'select', 'number', 'text']).meta(readOnly),
  description: z.string(),
  groupName: z.string().meta(readOnly),
  options: z.array(optionDocument),
  displayOrder: z.int().meta(readOnly),
  isDefault: z.boolean().meta(readOnly),
  archived: z.literal(false).meta(readOnly),
  createdAt: z.iso.datetime().meta(readOnly),
  updatedAt: z.iso.datetime().meta(readOnly),
}).meta({ id: 'EventProperty' });

export const definitionDocument = documentOf(EVENT_DEFINITION_TEXTS, {
  id: z.uuid().meta(readOnly),
  name: z.string(),
  fullyQualifiedName: z.string().meta(readOnly),
  objectTypeId: z.string().meta(readOnly),
  labels: documentOf(LABELS_TEXTS, { singular: z.string(), plural: z.null() }).meta(readOnly),
  label: z.string(),
  description: z.string(),
  primaryObject: z.string(),
  customMatchingId: documentOf(MATCHING_TEXTS, {
    primaryObjectRule: documentOf(RULE_TEXTS, {
      targetObjectPropertyName: z.string(),
      eventPropertyName: z.string(),
    }),
  }).optional(),
  includeDefaultProperties: z.boolean(),
  trackingType: z.literal('MANUAL').meta(readOnly),
  archived: z.literal(false).meta(readOnly),
  associations: z.array(z.never()).meta(readOnly),
  properties: z.array(propertyDocument).nullable().meta(readOnly),
  createdAt: z.iso.datetime().meta(readOnly),
  updatedAt: z.iso.datetime().meta(readOnly),
}).meta({ id: 'EventDefinition' });

export const listDocument = documentOf(LIST_TEXTS, {
  results: z.array(definitionDocument),
  total: z.int(),
  paging: documentOf(
    { next: 'The next page.' },
    { next: documentOf(NEXT_TEXTS, { after: z.string(), link: z.string() }) },
  ).optional(),
}).meta({ id: 'EventDefinitionList' });

export function toPropertyDocument(row: EventPropertyRow): z.input<typeof propertyDocument> {
  return {
    name: row.name,
    label: row.label,
    type: row.type,
    fieldType: FIELD_TYPE_OF[row.type],
    description: row.description ?? '',
    groupName: GROUP_NAME,
    options: DEFAULT_OPTIONS.get(row.options) ?? toOptionDocuments(row.options),
    displayOrder: displayOrder(row),
    isDefault: isDefault(row),
    archived: false,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

function toOptionDocuments(options: EventPropertyRow['options']): z.input<typeof optionDocument>[] {
  return options.map(({ label, value, displayOrder: order, hidden, description }, index) => ({
    label,
    value,
    displayOrder: order ?? index,
    hidden: hidden ?? false,
    description: description ?? '',
  }));
}

/** Built once, because default properties are the same for every definition and `svc_language` has 183 options. */
const DEFAULT_OPTIONS = new Map(DEFAULT_ROWS.map(({ options }) => [options, toOptionDocuments(options)]));

export function toDefinitionDocument(
  row: EventDefinitionRow,
  properties: readonly EventPropertyRow[] | null,
  context: OperationContext,
): z.input<typeof definitionDocument> {
  return {
    id: row.id,
    name: row.name,
    fullyQualifiedName: fullyQualifiedName(row, requireOrganization(context.actor)),
    objectTypeId: objectTypeId(row),
    labels: { singular: row.label, plural: null },
    label: row.label,
    description: row.description ?? '',
    primaryObject: row.primaryObject,
    ...(row.customMatchingId && { customMatchingId: row.customMatchingId }),
    includeDefaultProperties: row.includeDefaultProperties,
    trackingType: 'MANUAL',
    archived: false,
    associations: [],
    properties: properties?.map(toPropertyDocument) ?? null,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
