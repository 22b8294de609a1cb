import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { ConflictError, type DomainError, nameTaken, limitReached } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { Membership, Organization, type OrganizationTables } from './entity.ts';
import { type CreateOrganizationInput, SLUG_MAX_LENGTH } from './input.ts';
import { firstFree, fold } from '../../core/text/derived-names.ts';
import type { UserId } from '../../core/ids.ts';
import { lockName } from '../../core/postgres/advisory-lock.ts';

/** Maximum number of organizations that a person owns, which are those that they created or administer. */
const MAX_OWNED_ORGANIZATIONS = 20;

/**
 * Checks that a person can own one more organization, and locks the count until the transaction ends.
 * @throws ConflictError when they own the maximum.
 */
export async function requireRoomToOwn(em: EntityManager, userId: UserId): Promise<void> {
  await lockName(em, `owned organizations of ${userId}`);
  const owned = await em
    .getKysely<Readable<OrganizationTables>>()
    .selectFrom('organization as o')
    .select('o.id')
    .where('o.creator_id', '=', userId)
    .union((db) =>
      db
        .selectFrom('membership as m')
        .select('m.organization_id as id')
        .where('m.user_id', '=', userId)
        .where('m.role', '=', sql.lit('admin')),
    )
    .execute();
  if (owned.length < MAX_OWNED_ORGANIZATIONS) return;
  throw limitReached(
    MAX_OWNED_ORGANIZATIONS,
    `a person can own at most ${MAX_OWNED_ORGANIZATIONS} organizations, as creator or administrator; delete one first, or leave one`,
  );
}

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
  em.create(Membership, { organization, user: actor.userId, role: 'admin', origin: 'created', createdAt: at });
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

/** Generates a slug: `Ünïcode & Großhandel` gives `unicode-grosshandel`. Undefined when the name has neither letters nor digits. */
export function slugFromName(name: string): string | undefined {
  const slug = fold(name)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, SLUG_MAX_LENGTH)
    .replace(/-$/, '');
  return slug || undefined;
}

/** The first of `base`, `base-2`, `base-3`, … that is not taken. A long base is shortened to make room for the number. */
export const firstFreeSlug = (base: string, taken: ReadonlySet<string>): string =>
  firstFree(base, taken, { separator: '-', maxLength: SLUG_MAX_LENGTH });
