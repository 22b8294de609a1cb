import { routesOf } from '../../core/http/route.ts';
import { organizationDocument, organizationRow, toOrganization } from '../organizations/public.ts';
import { createOrganization } from './organization-creation.ts';

const route = routesOf('Organizations');

export const membershipRoutes = [
  route('POST /v1/organizations', createOrganization, {
    description:
      'Without `slug`, one is generated from the name. A given slug that is taken is 409. A person can own at most 20 organizations.',
    output: organizationDocument,
    examples: { input: { name: 'Example Works', slug: 'example-works' } },
    toDocument: ({ organization }) => toOrganization(organizationRow(organization), 1),
  }),
];
