import { route } from '../../core/http/route.ts';
import { createOrganizationInput, organizationRow } from '../organizations/public.ts';
import { organizationDocument, organizationExample, toOrganizationDocument } from '../organizations/rest-documents.ts';
import { createOrganization } from './organization-creation.ts';

export const membershipRoutes = [
  route({
    method: 'POST',
    path: '/v1/organizations',
    operationId: 'createOrganization',
    access: createOrganization.access,
    tag: 'Organizations',
    summary: 'Create an organization with the caller as its administrator.',
    description:
      'Without `slug`, one is generated from the name. A given slug that is taken is 409. A person can own at most 20 organizations. Needs the scope `organizations.write`.',
    input: createOrganizationInput,
    output: organizationDocument,
    status: 201,
    errors: [400, 409, 500, 503],
    examples: { input: { name: 'Example Works', slug: 'example-works' }, output: organizationExample },
    run: async (context, input) => {
      const { organization } = await createOrganization(context, input);
      return toOrganizationDocument(organizationRow(organization), 1);
    },
  }),
];
