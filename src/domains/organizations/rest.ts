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

export const organizationRoutes = [
  route({
    method: 'POST',
    path: '/v1/organizations',
    operationId: 'createOrganization',
    tag: 'Organizations',
    summary: 'Create an organization; the caller becomes its administrator.',
    input: createOrganizationInput,
    output: organizationDocument,
    status: 201,
    errors: [400, 409, 500, 503],
    examples: { input: { name: 'Example Works', slug: 'example-works' } },
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
