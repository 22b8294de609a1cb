import { z } from 'zod';
import { csvHeaders, csvLine, wantsCsv } from '../../core/http/csv.ts';
import { fileParameters } from '../../core/input/file-parameters.ts';
import { answerWith } from '../../core/http/messages.ts';
import { FILE_NAME_HEADER, type Batches, ndjsonFile, ndjsonHeaders } from '../../core/http/ndjson.ts';
import { routesOf } from '../../core/http/route.ts';
import { organizationDocument, organizationRow, toOrganization } from '../organizations/public.ts';
import { type ReviewedMember, readAccessReview } from './access-review.ts';
import { createOrganization } from './organization-creation.ts';

const route = routesOf('Organizations');

const REVIEWED = [
  'userId',
  'email',
  'name',
  'role',
  'origin',
  'joinedAt',
  'suspendedAt',
  'lastSeenAt',
  'apiKeys',
] as const satisfies readonly (keyof ReviewedMember)[];

export const membershipRoutes = [
  route('POST /v1/organizations', createOrganization, {
    description:
      'Without `slug`, one is generated from the name. A given slug that is taken is 409. A person can own at most 20 organizations.',
    output: organizationDocument,
    examples: { input: { name: 'Example Works', slug: 'example-works' } },
    toDocument: ({ organization }) => toOrganization(organizationRow(organization), 1),
  }),
  route('GET /v1/access-review', readAccessReview, {
    input: z.strictObject(fileParameters('csv', 'ndjson')),
    mediaTypes: {
      'application/x-ndjson': `A person on each line: ${REVIEWED.map((name) => `\`${name}\``).join(', ')}. \`origin\` is \`created\`, \`invited\`, \`provider\`, \`group\`, \`scim\`, \`operator\`, or null for members of before it was kept.`,
      'text/csv':
        'The same, with a line of names before it and an empty cell for null. Cells that a spreadsheet would run begin with an apostrophe.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: async (context, { format }, { method, headers: given }) => {
      const isCsv = wantsCsv(given, 'application/x-ndjson', format);
      const name = 'access-review';
      const headers = isCsv ? csvHeaders(name) : ndjsonHeaders(name);
      if (method === 'HEAD') return answerWith(null, { headers });
      const batches = await readAccessReview(context, {});
      if (!isCsv) return ndjsonFile(context, { name, batches, toLine: (row) => JSON.stringify(row) });
      return ndjsonFile(context, {
        name,
        headers,
        batches: csvOf(batches),
        toLine: (cells) => csvLine(cells).slice(0, -1),
      });
    },
  }),
];

async function* csvOf(rows: Batches<ReviewedMember>): Batches<readonly (string | number | null)[]> {
  yield [REVIEWED];
  for await (const some of rows) yield some.map((row) => REVIEWED.map((name) => row[name]));
}
