import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { ConflictError, type DomainError, nameTaken } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { Membership, Organization, type OrganizationTables } from './entity.ts';
import type { CreateOrganizationInput } from './input.ts';
import { requireRoomToOwn } from './owned-limit.ts';
import { firstFreeSlug, slugFromName } from './slug.ts';

/**
 * Key of the advisory lock (any constant): organizations are created one at a time, so that a generated slug is still
 * free at the insert.
 */
const SLUG_LOCK = 2_207_831_554;

/**
 * Creates an organization whose administrator is the caller, in the caller's transaction. Without a slug, one is
 * generated from the name, with a number when it is taken.
 * @throws ConflictError when the caller owns the maximum of organizations. When the slug is taken, a constraint of
 * {@link SLUG_CONFLICTS} is violated.
 */
export async function insertOrganization(
  { em, actor, now, newId, settings }: OperationContext,
  { name, slug }: Pick<CreateOrganizationInput, 'name' | 'slug'>,
): Promise<Organization> {
  await em
    .getKysely()
    .selectNoFrom(sql`pg_advisory_xact_lock(${SLUG_LOCK})`.as('lock'))
    .execute();
  if (slug !== undefined && slug === settings.reservedSlug)
    throw new ConflictError(
      'NAME_TAKEN',
      `only the operator of this gateway can create the organization ${slug} (OIDC_ORGANIZATION); choose another slug`,
      ['slug'],
    );
  await requireRoomToOwn(em, actor.userId);
  const at = now();
  const organization = em.create(Organization, {
    id: newId(),
    name,
    slug: slug ?? (await generateSlug(em, name, settings.reservedSlug)),
    logoUrl: null,
    subscriptions: settings.defaultSubscriptions,
    creator: actor.userId,
    createdAt: at,
    updatedAt: at,
  });
  em.create(Membership, { organization, user: actor.userId, role: 'admin', createdAt: at });
  return organization;
}

/** The errors for a slug that is taken. */
export const SLUG_CONFLICTS: Readonly<Record<string, (input: Pick<CreateOrganizationInput, 'slug'>) => DomainError>> = {
  organization_slug_unique: ({ slug }) =>
    slug === undefined
      ? new ConflictError('NAME_TAKEN', 'another organization just took the generated slug; try again', ['slug'])
      : nameTaken(slug, 'another organization', 'slug'),
};

async function generateSlug(em: EntityManager, name: string, reserved: string | undefined): Promise<string | null> {
  const base = slugFromName(name);
  if (base === undefined) return null;
  const rows = await em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization')
    .select('slug')
    .where(sql<boolean>`starts_with(slug, ${base.slice(0, 90)})`)
    .execute();
  return firstFreeSlug(
    base,
    new Set([...rows.flatMap(({ slug }) => slug ?? []), ...(reserved === undefined ? [] : [reserved])]),
  );
}
