import type { z } from 'zod';
import type { definitionDocument, listDocument, propertyDocument } from './rest-documents.ts';

/** Examples for the OpenAPI document. */

export const newPropertyExample = {
  label: 'Cart total',
  name: 'cart_total',
  type: 'number',
  description: 'Sum of all items in the cart.',
} as const;

export const propertyExample: z.input<typeof propertyDocument> = {
  ...newPropertyExample,
  fieldType: 'number',
  groupName: 'event_properties',
  options: [],
  displayOrder: 0,
  isDefault: false,
  archived: false,
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
};

export const definitionExample: z.input<typeof definitionDocument> = {
  id: '2b7e1516-28ae-4d2a-ab6f-7158809cf4f3',
  name: 'checkout_started',
  fullyQualifiedName: 'pe1_checkout_started',
  objectTypeId: '6-1',
  labels: { singular: 'Checkout started', plural: null },
  label: 'Checkout started',
  description: '',
  primaryObject: 'CONTACT',
  includeDefaultProperties: false,
  trackingType: 'MANUAL',
  archived: false,
  associations: [],
  properties: [propertyExample],
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
};

export const listExample: z.input<typeof listDocument> = {
  results: [{ ...definitionExample, properties: [] }],
  total: 2,
  paging: {
    next: {
      after: 'WyJFVkVOVF9ERUZJTklUSU9OX05BTUUiXQ',
      link: 'https://workspace.example.com/events/2026-03/event-definitions?limit=1&after=WyJFVkVOVF9ERUZJTklUSU9OX05BTUUiXQ',
    },
  },
};
