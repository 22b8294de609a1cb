import { z } from 'zod';
import { sql } from 'kysely';
import { type Access, requireAccess } from '../../core/access.ts';
import { auditEntry, recordAudit } from '../../core/audit.ts';
import { ConflictError, NotFoundError, notFound } from '../../core/errors.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { pagesWithRights } from '../../core/exported-pages.ts';
import { idSchema } from '../../core/input/validation.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { queriesOn } from '../../core/postgres/reading/queries.ts';
import { identitiesOf } from '../identities/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { FORMER_MEMBERS, MEMBERS, type MemberRow, SUSPENDED_MEMBERS } from '../memberships/public.ts';
import { EXPORT_MEMBER, EXPORT_ORGANIZATION } from './policy.ts';
import { allLines, kindsOfLines } from './rows.ts';

/** One export of an organization at a time, over all processes. */

const LEASE_MS = 60_000;

type Context = Pick<OperationContext, 'em' | 'now' | 'newId'>;

export interface Turn {
  /** Call before each page, at least once a minute. */
  readonly extend: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** @throws ConflictError (409) while another export of the organization runs. */
export async function takeTurn({ em, now, newId }: Context, organizationId: OrganizationId): Promise<Turn> {
  const token = newId();
  const run = (text: ReturnType<typeof sql>) => text.execute(em.fork().getKysely());
  const until = () => new Date(now().getTime() + LEASE_MS);
  const { rows } = await run(sql`
    insert into running_export as r (organization_id, token, expires_at) values (${organizationId}, ${token}, ${until()})
    on conflict (organization_id) do update set token = excluded.token, expires_at = excluded.expires_at
      where r.expires_at < ${now()} returning r.token`);
  if (rows.length === 0)
    throw new ConflictError('WRONG_STATE', 'an export of this organization is running; wait until it has ended');
  const own = sql`organization_id = ${organizationId} and token = ${token}`;
  let extendedAt = now().getTime();
  return {
    extend: async () => {
      const at = now().getTime();
      if (Math.abs(at - extendedAt) < LEASE_MS / 4) return;
      await run(sql`update running_export set expires_at = ${until()} where ${own}`);
      extendedAt = at;
    },
    end: async () => void (await run(sql`delete from running_export where ${own}`)),
  };
}

export const VERSION = 1;

/** Lines in their order, in batches. The turn of the export ends with them. */
export interface ExportedLines {
  readonly lines: AsyncGenerator<readonly object[], void, undefined>;
  /** Call when it is left before its first line was read. */
  readonly end: () => Promise<void>;
}

export const exportOrganizationInput = z.strictObject({
  organizationId: idSchema<OrganizationId>().describe('Id of the organization, which must be the acting one.'),
});

export const exportOrganization = defineOperation({
  name: 'exportOrganization',
  description:
    'Exports everything of the organization that an administrator can read, as a file with one JSON object on each line: first `export`, then each object with its `kind`, and last `end` with the counts of each kind. A file without that last line is not complete. It has no secrets. One export of an organization runs at a time.',
  access: EXPORT_ORGANIZATION,
  input: exportOrganizationInput,
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
    const lines = exported(context, { organization }, { access: EXPORT_ORGANIZATION, turn });
    return { lines, end: turn.end };
  } catch (error) {
    await turn.end();
    throw error;
  }
}

export const exportMemberInput = exportOrganizationInput.extend({
  userId: idSchema<UserId>().describe('Id of the person.'),
});

export const exportOrganizationMember = defineOperation({
  name: 'exportOrganizationMember',
  description:
    'Exports what the organization has of one person, also of a suspended or former member: identities, membership, sessions with their events, API keys without secrets, audit log entries of what the person did, and for the person alone the personal MCP connections, as a file like that of the whole organization. For administrators with `organizations.write`, and for the person.',
  access: EXPORT_MEMBER,
  input: exportMemberInput,
  errors: [NotFoundError],
  run: async (context, { organizationId, userId }): Promise<ExportedLines> => {
    const isOwn = userId === context.actor.userId;
    if (!isOwn) requireAccess(context.actor, EXPORT_ORGANIZATION);
    if (organizationId !== context.actor.organization?.id) throw notFound('organization');
    const filter = { userIds: [userId] };
    const [member] = [...(await MEMBERS.all(context, filter)), ...(await SUSPENDED_MEMBERS.all(context, filter))];
    const person = member ?? (await FORMER_MEMBERS.all(context, filter))[0];
    if (!person) throw notFound('member');
    const label = 'label' in person ? person.label : labelOf(person);
    await recordAudit(
      context.em.fork(),
      auditEntry(context, 'exportOrganizationMember', { type: 'User', id: userId, label }),
    );
    const access = isOwn ? EXPORT_MEMBER : EXPORT_ORGANIZATION;
    // What the person did at the provider after leaving is not of the organization.
    const identities = (member && (await identitiesOf(context)([userId])).get(userId)) ?? [];
    const head = { person: { ...person, identities } };
    return { lines: exported(context, head, { access, personId: userId }), end: () => Promise.resolve() };
  },
});

const labelOf = ({ email, name }: MemberRow) => (name === null ? email : `${name} (${email})`);

interface Exporting {
  readonly access: Access;
  /** Undefined for the export of a person, of which several can run. */
  readonly turn?: Turn;
  readonly personId?: UserId;
}

async function* exported(
  context: OperationContext,
  head: object,
  { access, turn, personId }: Exporting,
): ExportedLines['lines'] {
  const counts = Object.fromEntries(kindsOfLines(personId).map((kind) => [kind, 0]));
  const pages = pagesWithRights(context, access);
  const next = async () => {
    await turn?.extend();
    return pages();
  };
  try {
    yield [{ kind: 'export', version: VERSION, ...head, at: context.now().toISOString() }];
    for await (const lines of allLines(next, personId)) {
      for (const { kind } of lines) counts[kind] = (counts[kind] ?? 0) + 1;
      yield lines;
    }
    yield [{ kind: 'end', counts }];
  } finally {
    await turn?.end();
  }
}
