import { z } from 'zod';
import { exampleOf, readOnly } from '../../core/documents.ts';
import { PROPERTY_TYPES } from './property-types.ts';

/**
 * The JSON documents of the REST API. A client can send all fields that are not read-only to create the same object,
 * and `label`, `description` and `options` to update it. Descriptions are text, empty where there is none, because
 * existing clients require text.
 */

export const optionDocument = z.strictObject({
  label: z.string().describe('What people see.'),
  value: z.string().describe('What occurrences store.'),
  displayOrder: z.int().describe('Position in lists, from 0.'),
  hidden: z.boolean().describe('Whether forms should leave the option out.'),
  description: z.string().describe('What the option means; empty where there is none.'),
});

export const propertyDocument = z
  .strictObject({
    name: z.string().describe('Name within the definition.').meta({ example: 'cart_total' }),
    label: z.string().describe('What people see.').meta({ example: 'Cart total' }),
    type: z.enum(PROPERTY_TYPES).describe('Type of the values.').meta({ example: 'number' }),
    fieldType: readOnly(z.enum(['radio', 'date', 'select', 'number', 'text']))
      .describe('The form field that fits the type.')
      .meta({ example: 'number' }),
    description: z
      .string()
      .describe('What the property means; empty where there is none.')
      .meta({ example: 'Sum of all items in the cart.' }),
    groupName: readOnly(z.string())
      .describe('Group of the property; always the same.')
      .meta({ example: 'event_properties' }),
    options: z
      .array(optionDocument)
      .describe('The allowed values of an enumeration; empty for every other type.')
      .meta({ example: [] }),
    displayOrder: readOnly(z.int()).describe('Position in lists, from 0.').meta({ example: 0 }),
    isDefault: readOnly(z.boolean())
      .describe('Whether every definition has the property. Default properties cannot be changed.')
      .meta({ example: false }),
    archived: readOnly(z.literal(false)).describe('Always false.').meta({ example: false }),
    createdAt: readOnly(z.iso.datetime())
      .describe('When the property was created.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    updatedAt: readOnly(z.iso.datetime())
      .describe('When the property last changed. `expectedUpdatedAt` is compared with it.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
  })
  .meta({ id: 'EventProperty' });

const { shape: ofProperty } = propertyDocument;

export const definitionDocument = z
  .strictObject({
    id: readOnly(z.uuid()).describe('Id of the definition.').meta({ example: '2b7e1516-28ae-4d2a-ab6f-7158809cf4f3' }),
    name: z
      .string()
      .describe('Name, which sent occurrences give. It never changes.')
      .meta({ example: 'checkout_started' }),
    fullyQualifiedName: readOnly(z.string())
      .describe('Name that is unique over all organizations.')
      .meta({ example: 'pe1_checkout_started' }),
    objectTypeId: readOnly(z.string()).describe('Id of the type of the occurrences.').meta({ example: '6-1' }),
    labels: readOnly(
      z.strictObject({ singular: z.string().describe('The label.'), plural: z.null().describe('Always null.') }),
    )
      .describe('The label in the form of older clients.')
      .meta({ example: { singular: 'Checkout started', plural: null } }),
    label: z.string().describe('What people see.').meta({ example: 'Checkout started' }),
    description: z.string().describe('What the event means; empty where there is none.').meta({ example: '' }),
    primaryObject: z
      .string()
      .describe('The kind of record that an occurrence is linked to, or `NO_OBJECT`.')
      .meta({ example: 'CONTACT' }),
    customMatchingId: z
      .strictObject({
        primaryObjectRule: z
          .strictObject({
            targetObjectPropertyName: z.string().describe('Name of the property of the record.'),
            eventPropertyName: z.string().describe('Name of the property of the event with the same value.'),
          })
          .describe('The rule that links an occurrence to a record.'),
      })
      .optional()
      .describe('How occurrences are linked to records by a property. Absent when they name the record themselves.'),
    includeDefaultProperties: z
      .boolean()
      .describe('Whether the definition has the default properties.')
      .meta({ example: false }),
    trackingType: readOnly(z.literal('MANUAL'))
      .describe('Always `MANUAL`: occurrences are sent.')
      .meta({ example: 'MANUAL' }),
    archived: ofProperty.archived,
    associations: readOnly(z.array(z.never())).describe('Always empty.').meta({ example: [] }),
    properties: readOnly(z.array(propertyDocument).nullable())
      .describe('The properties; empty in lists without `includeProperties=true`, null if they are larger than 4 MiB.')
      .meta({ example: [exampleOf(propertyDocument)] }),
    createdAt: ofProperty.createdAt.describe('When the definition was created.'),
    updatedAt: ofProperty.updatedAt.describe(
      'When the definition or one of its properties last changed. `expectedUpdatedAt` is compared with it.',
    ),
  })
  .meta({ id: 'EventDefinition' });

export const listDocument = z
  .strictObject({
    results: z
      .array(definitionDocument)
      .describe('The definitions of this page, by name.')
      .meta({ example: [{ ...exampleOf(definitionDocument), properties: [] }] }),
    total: z.int().describe('Number of definitions that meet the search.').meta({ example: 2 }),
    paging: z
      .strictObject({
        next: z
          .strictObject({
            after: z.string().describe('Cursor for the parameter `after`.'),
            link: z.string().describe('Address of the next page.'),
          })
          .describe('The next page.'),
      })
      .optional()
      .describe('Absent on the last page.')
      .meta({
        example: {
          next: {
            after: 'WyJFVkVOVF9ERUZJTklUSU9OX05BTUUiXQ',
            link: 'https://workspace.example.com/events/2026-03/event-definitions?limit=1&after=WyJFVkVOVF9ERUZJTklUSU9OX05BTUUiXQ',
          },
        },
      }),
  })
  .meta({ id: 'EventDefinitionList' });

export const newPropertyExample = {
  label: 'Cart total',
  name: 'cart_total',
  type: 'number',
  description: 'Sum of all items in the cart.',
} as const;
