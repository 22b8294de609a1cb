import { routesOf } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import { organizationDocument, toOrganization } from './documents.ts';
import { keyPolicyDocument, toKeyPolicy } from './key-policy-document.ts';
import { listOrganizationsInput } from './input.ts';
import { readOrganizationKeyPolicy, updateOrganizationKeyPolicy } from './key-policy.ts';
import { listOrganizations } from './operations.ts';
import { memberCountsOf } from './queries.ts';

const route = routesOf('Organizations');

const KEY_POLICY = '/v1/organizations/:organizationId/key-policy';

export const organizationRoutes = [
  route(`GET ${KEY_POLICY}`, readOrganizationKeyPolicy, { output: keyPolicyDocument, toDocument: toKeyPolicy }),
  route(`PATCH ${KEY_POLICY}`, updateOrganizationKeyPolicy, {
    optionalBody: false,
    output: keyPolicyDocument,
    examples: { input: { maxDays: 90, boundOnly: true } },
    toDocument: toKeyPolicy,
  }),
  route('GET /v1/organizations', listOrganizations, {
    description:
      'Sorted by time of creation. `X-Organization-Id` accepts the ids and slugs. An unbound key lists all organizations of its user, a bound key only its own.',
    input: listOrganizationsInput,
    output: listDocument(organizationDocument),
    run: async (context, input) => {
      const { items, nextCursor } = await readList(
        input,
        (page) => listOrganizations(context, { filter: {}, order: { field: 'CREATED_AT', direction: 'ASC' }, page }),
        (row) => row,
      );
      const counts = await memberCountsOf(context)(items.map(({ id }) => id));
      return { items: items.map((row) => toOrganization(row, counts.get(row.id) ?? 0)), nextCursor };
    },
  }),
];
