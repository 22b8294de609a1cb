import { z } from 'zod';
import { route } from '../../core/http/route.ts';
import { toIsoString } from '../../core/text/timestamps.ts';
import { createOrganizationInput } from './input.ts';
import { createOrganization } from './operations.ts';

const organizationDocument = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    slug: z.string().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    logoUrl: z.string().nullable(),
    memberCount: z.int(),
  })
  .meta({ id: 'Organization' });

const organizationExample: z.input<typeof organizationDocument> = {
  id: '1f0e9d8c-7b6a-4f5e-8d3c-2b1a09f8e7d6',
  name: 'Example Works',
  slug: 'example-works',
  createdAt: '2026-03-01T10:20:30.500Z',
  updatedAt: '2026-03-01T10:20:30.500Z',
  logoUrl: null,
  memberCount: 1,
};

export const organizationRoutes = [
  route({
    method: 'POST',
    path: '/v1/organizations',
    operationId: 'createOrganization',
    access: createOrganization.access,
    tag: 'Organizations',
    summary: 'Create an organization; the caller becomes its administrator.',
    description:
      'Without `slug` one is made from the name; a given slug that is taken is 409. A person owns at most 20 organizations. Needs the scope `organizations.write`.',
    input: createOrganizationInput,
    output: organizationDocument,
    status: 201,
    errors: [400, 409, 500, 503],
    examples: { input: { name: 'Example Works', slug: 'example-works' }, output: organizationExample },
    run: async (context, input) => {
      const { id, name, slug, createdAt, updatedAt, logoUrl } = await createOrganization(context, input);
      return {
        id,
        name,
        slug: slug ?? null,
        createdAt: toIsoString(createdAt),
        updatedAt: toIsoString(updatedAt),
        logoUrl: logoUrl ?? null,
        memberCount: 1,
      };
    },
  }),
];
