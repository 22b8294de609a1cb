import { route } from '../../core/http/route.ts';
import { organizationRow } from '../organizations/public.ts';
import { organizationDocument, organizationExample, toOrganizationDocument } from '../organizations/rest-documents.ts';
import { createOrganization } from './organization-creation.ts';

export const membershipRoutes = [
  route(createOrganization, {
    method: 'POST',
    path: '/v1/organizations',
    tag: 'Organizations',
    description:
      'Without `slug`, one is generated from the name. A given slug that is taken is 409. A person can own at most 20 organizations.',
    output: organizationDocument,
    status: 201,
    examples: { input: { name: 'Example Works', slug: 'example-works' }, output: organizationExample },
    toDocument: ({ organization }) => toOrganizationDocument(organizationRow(organization), 1),
  }),
];
