import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { notFound } from '../../core/errors.ts';
import type { OrganizationId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import type { Readable } from '../../core/postgres/reading/queries.ts';
import { ScimUser, type SuspensionTables } from '../memberships/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { type User, type UserTables, personName } from '../users/public.ts';
import type { Filter } from './filter.ts';
import type { GroupState, UserState } from './resources.ts';

/** People as SCIM sees them: all members, also those whose membership is suspended. */

export type Stored = { readonly id: string; readonly createdAt: Date; readonly updatedAt: Date };
export type StoredUser = Stored & { readonly state: UserState };
export type StoredGroup = Stored & { readonly state: GroupState };

/** The rows of the members that meet a filter, also of those that are suspended, with what SCIM has sent of them. */
export function people(em: EntityManager, organizationId: OrganizationId, filter?: Filter) {
  // The parser of filters knows these names alone.
  const condition = filter && USER_CONDITIONS[filter.attribute as keyof typeof USER_CONDITIONS](filter.value);
  const db = em.getKysely<Readable<OrganizationTables & SuspensionTables & UserTables>>();
  const members = db
    .selectFrom('membership')
    .select(['user_id', 'created_at', sql<boolean>`true`.as('active')])
    .where('organization_id', '=', organizationId)
    .unionAll((eb) =>
      eb
        .selectFrom('suspended_membership')
        .select(['user_id', 'created_at', sql<boolean>`false`.as('active')])
        .where('organization_id', '=', organizationId),
    );
  return db
    .selectFrom(members.as('m'))
    .innerJoin('user_account as u', 'u.id', 'm.user_id')
    .leftJoin('scim_user as s', (join) =>
      join.onRef('s.user_id', '=', 'm.user_id').on('s.organization_id', '=', organizationId),
    )
    .where('u.email', 'is not', null)
    .$if(condition !== undefined, (query) => query.where(condition ?? sql<boolean>`true`));
}

export const USER_CONDITIONS = {
  id: (value: string) => sql<boolean>`u.id::text = ${value.toLowerCase()}`,
  username: (value: string) => sql<boolean>`coalesce(s.user_name_key, u.email) = ${value.toLowerCase()}`,
  externalid: (value: string) => sql<boolean>`s.external_id = ${value}`,
  'emails.value': (value: string) => sql<boolean>`u.email = ${value.toLowerCase()}`,
};
export const USER_FILTERS = Object.keys(USER_CONDITIONS);

export interface Asked {
  readonly filter: Filter | undefined;
  readonly offset: number;
  readonly count: number;
}

export async function findPeople(
  em: EntityManager,
  organizationId: OrganizationId,
  { filter, offset, count }: Asked,
): Promise<StoredUser[]> {
  const rows = await people(em, organizationId, filter)
    .select([
      'u.id',
      'u.email',
      'm.active',
      's.external_id as externalId',
      's.display_name as displayName',
      's.name',
      sql<string>`coalesce(s.user_name, u.email)`.as('userName'),
      sql<Date>`coalesce(s.created_at, m.created_at)`.as('createdAt'),
      sql<Date>`coalesce(s.updated_at, m.created_at)`.as('updatedAt'),
    ])
    .orderBy('m.created_at')
    .orderBy('u.id')
    .offset(offset)
    .limit(count)
    .execute();
  return rows.map(({ id, email, active, externalId, displayName, name, userName, createdAt, updatedAt }) => ({
    id,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    state: { userName, externalId, displayName, name: name ?? {}, active, email: email ?? '' },
  }));
}

export async function oneUser(em: EntityManager, organizationId: OrganizationId, id: string): Promise<StoredUser> {
  const [found] = await findPeople(em, organizationId, { filter: { attribute: 'id', value: id }, offset: 0, count: 1 });
  if (!found) throw notFound('user');
  return found;
}

/** The name that SCIM has for a person. */
function nameOf({
  displayName,
  name,
}: { readonly displayName?: string | null } & Pick<UserState, 'name'>): string | null {
  for (const text of [displayName, name.formatted, [name.givenName, name.familyName].filter(Boolean).join(' ')]) {
    const valid = personName.safeParse(text?.trim() ?? '');
    if (valid.success) return valid.data;
  }
  return null;
}

/** Stores what SCIM has sent. The name is taken over where the person has set none here. */
export async function store(
  { em, now }: OperationContext,
  organizationId: OrganizationId,
  user: User,
  state: UserState,
): Promise<boolean> {
  const place = { organization: organizationId, user: user.id };
  const record = await em.findOne(ScimUser, place);
  const own = nameOf(state);
  if (own !== null && own !== user.name && (user.name === null || (record && user.name === nameOf(record))))
    user.rename(own, now());
  const { userName, externalId, displayName, name } = state;
  const values = { userName, userNameKey: userName.toLowerCase(), externalId, displayName, name, updatedAt: now() };
  if (record) em.assign(record, values);
  else em.create(ScimUser, { ...place, ...values, createdAt: now() });
  await em.flush();
  return record === null;
}
