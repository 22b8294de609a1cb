import type { z } from 'zod';
import { requireOrganization } from '../../core/access.ts';
import type { OperationContext } from '../../core/operation.ts';
import {
  DEFAULT_ROWS,
  GROUP_NAME,
  displayOrder,
  fullyQualifiedName,
  isDefault,
  objectTypeId,
} from './computed-fields.ts';
import type { definitionDocument, optionDocument, propertyDocument } from './documents.ts';
import type { EventPropertyRow } from './property-queries.ts';
import { FIELD_TYPE_OF } from './property-types.ts';
import type { EventDefinitionRow } from './queries.ts';

export const toPropertyDocument = (row: EventPropertyRow): z.input<typeof propertyDocument> => ({
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
});

const toOptionDocuments = (options: EventPropertyRow['options']): z.input<typeof optionDocument>[] =>
  options.map(({ label, value, displayOrder: order, hidden, description }, index) => ({
    label,
    value,
    displayOrder: order ?? index,
    hidden: hidden ?? false,
    description: description ?? '',
  }));

/** Built once, because default properties are the same for every definition and `svc_language` has 183 options. */
const DEFAULT_OPTIONS = new Map(DEFAULT_ROWS.map(({ options }) => [options, toOptionDocuments(options)]));

export const toDefinitionDocument = (
  row: EventDefinitionRow,
  properties: readonly EventPropertyRow[] | null,
  context: OperationContext,
): z.input<typeof definitionDocument> => ({
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
});
