import { z } from 'zod';
import type { OrganizationRow } from './queries.ts';

/** What both APIs answer. */

export const organizationDocument = z
  .strictObject({
    id: z.uuid().describe('Id of the organization.').meta({ example: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6' }),
    name: z.string().describe('Name of the organization, 1 to 100 characters.').meta({ example: 'Example Works' }),
    slug: z
      .string()
      .nullable()
      .describe(
        'Slug of at most 100 characters, unique over all organizations. Null when none was given and the name has neither letters nor digits.',
      )
      .meta({ example: 'example-works' }),
    createdAt: z.iso
      .datetime()
      .describe('When the organization was created.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    updatedAt: z.iso
      .datetime()
      .describe('When the organization last changed. `expectedUpdatedAt` is compared with it.')
      .meta({ example: '2026-03-01T10:20:30.500Z' }),
    logoUrl: z.string().nullable().describe('Address of the logo. Null when there is none.'),
    memberCount: z.int().describe('Number of members.').meta({ example: 1 }),
  })
  .meta({ id: 'Organization' });

export function toOrganization(row: OrganizationRow, memberCount: number): z.input<typeof organizationDocument> {
  const { id, name, slug, createdAt, updatedAt, logoUrl } = row;
  return { id, name, slug, createdAt, updatedAt, logoUrl, memberCount };
}
