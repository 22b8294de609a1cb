import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import type { OrganizationRow } from './queries.ts';
import { ORGANIZATION_TEXTS } from './texts.ts';

/** The JSON document of an organization. Other domain modules use it too. */
export const organizationDocument = documentOf(ORGANIZATION_TEXTS, {
  id: z.uuid(),
  name: z.string(),
  slug: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  logoUrl: z.string().nullable(),
  memberCount: z.int(),
}).meta({ id: 'Organization' });

export const organizationExample: z.input<typeof organizationDocument> = {
  id: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6',
  name: 'Example Works',
  slug: 'example-works',
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
  logoUrl: null,
  memberCount: 1,
};

export function toOrganizationDocument(
  row: OrganizationRow,
  memberCount: number,
): z.input<typeof organizationDocument> {
  const { id, name, slug, createdAt, updatedAt, logoUrl } = row;
  return { id, name, slug, createdAt, updatedAt, logoUrl, memberCount };
}
