import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { ConflictError, nameTaken, notFound } from '../../core/errors.ts';
import { isEmptyUpdate, requireUnchanged } from '../../core/input/expected-version.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/reading/keyset.ts';
import { ANYBODY, requireScope } from '../../core/access.ts';
import { type OperationContext, guarded, unchanged, write } from '../../core/operation.ts';
import { type AuditTarget, auditEntry, recordAudit } from '../../core/audit.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { type CreatedApiKey, issueApiKeyLike } from '../api-keys/operations.ts';
import { type Columns, ifKnown } from '../../core/postgres/reading/columns.ts';
import { Membership, Organization, type OrganizationTables } from './entity.ts';
import type { CreateOrganizationInput, OrganizationReference, UpdateOrganizationInput } from './input.ts';
import { requireRoomToOwn } from './ownership.ts';
import { ADMINISTER_ORGANIZATION, CREATE_ORGANIZATIONS } from './policy.ts';
import {
  type OrganizationList,
  type OrganizationRow,
  countOrganizations,
  findOrganizationBySlug,
  findOrganizations,
  pageOfOrganizations,
} from './queries.ts';
import { firstFreeSlug, slugFromName } from './slug.ts';

export {
  deleteOrganizationRow,
  emptyOrganization,
  leaveOrganizations,
  lockOrganizationsOf,
  organizationsAdministeredBy,
} from './leaving.ts';
export { lockOrganization } from './lock.ts';
export { requireRoomToOwn } from './ownership.ts';

/** Key of the advisory lock (any constant): organizations are created one at a time, so that a generated slug is still free at the insert. */
const SLUG_LOCK = 2_207_831_554;

export interface CreatedOrganization {
  readonly organization: Organization;
  /** The key that is bound to the new organization; undefined unless it was requested. */
  readonly created: CreatedApiKey | undefined;
}

/**
 * Creates an organization and makes the caller its administrator. Without a slug, one is generated from the name, with a number when it is taken.
 * `createApiKey` also creates a key with the scopes and the expiry of the calling key.
 * @throws ConflictError when the given slug is taken, or the caller owns the maximum of organizations.
 */
export const createOrganization = write(
  async (context, input: CreateOrganizationInput): Promise<CreatedOrganization> => {
    const { em, actor, now, newId, settings } = context;
    if (input.createApiKey) requireScope(actor, 'api_keys.write');
    await em
      .getKysely()
      .selectNoFrom(sql`pg_advisory_xact_lock(${SLUG_LOCK})`.as('lock'))
      .execute();
    await requireRoomToOwn(em, actor.userId);
    const at = now();
    const organization = em.create(Organization, {
      id: newId(),
      name: input.name,
      slug: input.slug ?? (await generateSlug(em, input.name)),
      logoUrl: null,
      subscriptions: settings.defaultSubscriptions,
      creator: actor.userId,
      createdAt: at,
      updatedAt: at,
    });
    em.create(Membership, { organization, user: actor.userId, role: 'admin', createdAt: at });
    return { organization, created: input.createApiKey ? await issueFirstKey(context, organization) : undefined };
  },
  {
    access: CREATE_ORGANIZATIONS,
    operation: 'createOrganization',
    target: ({ organization }) => targetOf(organization),
    conflicts: {
      organization_slug_unique: ({ slug }) =>
        slug === undefined
          ? new ConflictError('NAME_TAKEN', 'another organization just took the generated slug; try again', ['slug'])
          : nameTaken(slug, 'another organization', 'slug'),
    },
  },
);

async function issueFirstKey(context: OperationContext, { id, name }: Organization): Promise<CreatedApiKey> {
  const { em, actor } = context;
  const key = { userId: actor.userId, organizationId: id, name: `First key of ${name}`.slice(0, 100) };
  // The organization must be inserted before the rows that refer to it.
  await em.flush();
  const created = await issueApiKeyLike(context, key);
  const target = { type: 'ApiKey', id: created.apiKey.id, organizationId: id };
  await recordAudit(em, auditEntry(context, 'createApiKey', target));
  return created;
}

/** The audit log entry belongs to the organization that was created or changed. */
function targetOf({ id }: Organization): AuditTarget {
  return { type: 'Organization', id, organizationId: id };
}

async function generateSlug(em: EntityManager, name: string): Promise<string | null> {
  const base = slugFromName(name);
  if (base === undefined) return null;
  const rows = await em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization')
    .select('slug')
    .where(sql<boolean>`starts_with(slug, ${base.slice(0, 90)})`)
    .execute();
  return firstFreeSlug(base, new Set(rows.flatMap(({ slug }) => slug ?? [])));
}

/** Finds the organization with this slug, or creates it, in the caller's transaction. */
export async function findOrCreateOrganization(
  {
    em,
    now,
    newId,
    settings,
  }: Pick<OperationContext, 'em' | 'now' | 'newId'> & {
    readonly settings: Pick<OperationContext['settings'], 'defaultSubscriptions'>;
  },
  slug: string,
  creatorId: UserId,
): Promise<{ organization: Organization; isNew: boolean }> {
  const [id, at] = [newId(), now()];
  await em.upsert(
    Organization,
    {
      id,
      name: slug,
      slug,
      subscriptions: settings.defaultSubscriptions,
      creator: creatorId,
      createdAt: at,
      updatedAt: at,
    },
    { onConflictFields: ['slug'], onConflictAction: 'ignore' },
  );
  const organization = await em.findOneOrFail(Organization, { slug });
  return { organization, isNew: organization.id === id };
}

/**
 * Changes the name and the logo of the acting organization.
 * @throws NotFoundError for the id of another organization; ConflictError when the organization was changed since `expectedUpdatedAt`.
 */
export const updateOrganization = write(
  async ({ em, actor, now }, { organizationId, expectedUpdatedAt, ...changes }: UpdateOrganizationInput) => {
    if (organizationId !== actor.organization?.id) throw notFound('organization');
    const organization = await em.findOne(
      Organization,
      { id: organizationId },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!organization) throw notFound('organization');
    requireUnchanged(organization, { expectedUpdatedAt });
    if (isEmptyUpdate(changes)) return unchanged(organization);
    organization.update(changes, now());
    return organization;
  },
  { access: ADMINISTER_ORGANIZATION, operation: 'updateOrganization', target: targetOf },
);

/** The organizations with these ids that the caller is a member of. A bound key sees only its own organization. */
export function readOrganizations(
  context: OperationContext,
  ids: readonly OrganizationId[],
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow[]> {
  return findOrganizations(context, ids, selected);
}

/** One organization of the caller, by id or slug; undefined when it does not exist or the caller is not a member. */
export async function readOrganization(
  context: OperationContext,
  { id, slug }: OrganizationReference,
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  if (id !== undefined) return (await findOrganizations(context, [id], selected))[0];
  return slug === undefined ? undefined : findOrganizationBySlug(context, slug, selected);
}

/** The acting organization. It is read only when columns are selected that the lookup of the API key has not read already. */
export async function readActingOrganization(
  context: OperationContext,
  selected?: Columns<OrganizationRow>,
): Promise<OrganizationRow | undefined> {
  const { organization } = context.actor;
  if (!organization) return undefined;
  const { role: _, ...known } = organization;
  return (
    ifKnown<OrganizationRow>(known, selected) ?? (await findOrganizations(context, [organization.id], selected))[0]
  );
}

/** Lists the organizations of the caller. */
export const listOrganizations = guarded(
  ANYBODY,
  async (
    context: OperationContext,
    list: OrganizationList,
    page: PageArguments,
    selected?: Columns<OrganizationRow>,
  ): Promise<CountedPage<OrganizationRow>> => ({
    page: await pageOfOrganizations(context, list, page, selected),
    total: () => countOrganizations(context, list.filter),
  }),
);

export { type OrganizationRow, memberCountsOf, organizationRow, rolesOf } from './queries.ts';
