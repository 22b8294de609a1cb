import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { createOrganizationInput, listOrganizationsInput } from './input.ts';
import { createOrganization, listOrganizations, memberCountsOf } from './operations.ts';
import { organizationRow } from './queries.ts';
import { organizationDocument, organizationExample, toOrganizationDocument } from './rest-documents.ts';

export const organizationRoutes = [
  route({
    method: 'GET',
    path: '/v1/organizations',
    operationId: 'listOrganizations',
    access: listOrganizations.access,
    tag: 'Organizations',
    summary: 'List the organizations that the key can act in.',
    description:
      'Sorted by time of creation. An unbound key lists all organizations of its user, a bound key only its own. `X-Organization-Id` accepts the ids and slugs.',
    input: listOrganizationsInput,
    output: listDocument(organizationDocument),
    status: 200,
    errors: [400],
    examples: { output: { items: [organizationExample], nextCursor: null } },
    run: async (context, input) => {
      const { items, nextCursor } = await readList(
        input,
        (page) => listOrganizations(context, { filter: {}, order: { field: 'CREATED_AT', direction: 'ASC' } }, page),
        (row) => row,
      );
      const counts = await memberCountsOf(context)(items.map(({ id }) => id));
      return { items: items.map((row) => toOrganizationDocument(row, counts.get(row.id) ?? 0)), nextCursor };
    },
  }),
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
