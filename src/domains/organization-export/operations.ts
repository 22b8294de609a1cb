import { z } from 'zod';
import { auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import { pagesWithRights } from '../../core/exported-pages.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { EXPORT_ORGANIZATION } from './policy.ts';
import { KINDS, type Line, allLines } from './rows.ts';
import { type Turn, takeTurn } from './turn.ts';

export const VERSION = 1;

/** Lines in their order, in batches. The turn of the export ends with them. */
export interface ExportedLines {
  readonly lines: AsyncGenerator<readonly object[], void, undefined>;
  /** Call when it is left before its first line was read. */
  readonly end: () => Promise<void>;
}

export const exportOrganization = defineOperation({
  name: 'exportOrganization',
  description:
    'Exports everything of the organization that an administrator can read, as a file with one JSON object on each line: first `export`, then each object with its `kind`, and last `end` with the counts of each kind. A file without that last line is not complete. It has no secrets. One export of an organization runs at a time.',
  access: EXPORT_ORGANIZATION,
  input: z.strictObject({
    organizationId: idSchema<OrganizationId>().describe('Id of the organization, which must be the acting one.'),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, { organizationId }): Promise<ExportedLines> => {
    if (organizationId !== context.actor.organization?.id) throw notFound('organization');
    return beginExport(context, organizationId);
  },
});

/** Also for the command line, which is no member. */
const findOrganization = (id: OrganizationId) =>
  queriesOn<OrganizationTables>()
    .selectFrom('organization')
    .select(['id', 'name', 'slug', 'created_at as createdAt', 'updated_at as updatedAt'])
    .where('id', '=', id);

/** Begins an export, which is in the audit log from then on. @throws ConflictError (409) while another one runs. */
export async function beginExport(context: OperationContext, organizationId: OrganizationId): Promise<ExportedLines> {
  const organization = await context.sql.first(findOrganization(organizationId));
  const turn = await takeTurn(context, organizationId);
  try {
    const target = { type: 'Organization' as const, id: organizationId, organizationId };
    await recordAudit(context.em.fork(), auditEntry(context, 'exportOrganization', target));
    const lines = exported(context, turn, { organization, at: context.now().toISOString() });
    return { lines, end: turn.end };
  } catch (error) {
    await turn.end();
    throw error;
  }
}

async function* exported(context: OperationContext, turn: Turn, head: object): ExportedLines['lines'] {
  const counts = Object.fromEntries(KINDS.map((kind): [Line['kind'], number] => [kind, 0]));
  const pages = pagesWithRights(context, EXPORT_ORGANIZATION);
  const next = async () => {
    await turn.extend();
    return pages();
  };
  try {
    yield [{ kind: 'export', version: VERSION, ...head }];
    for await (const lines of allLines(context, next)) {
      for (const { kind } of lines) counts[kind] = (counts[kind] ?? 0) + 1;
      yield lines;
    }
    yield [{ kind: 'end', counts }];
  } finally {
    await turn.end();
  }
}
