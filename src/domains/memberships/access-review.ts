import { sql } from 'kysely';
import { z } from 'zod';
import { type NextPage, pagesOf, pagesWithRights } from '../../core/exported-pages.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type Batches } from '../../core/http/ndjson.ts';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { anyOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import { type ApiKeyTables, lastUsesOf } from '../api-keys/public.ts';
import {
  ADMINISTER_ORGANIZATION,
  type MEMBER_ORIGINS,
  type OrganizationTables,
  actingOrganization,
} from '../organizations/public.ts';
import type { UserTables } from '../users/public.ts';
import type { SuspensionTables } from './entity.ts';
import { MEMBERS, type MemberRow, SUSPENDED_MEMBERS } from './queries.ts';

const db = queriesOn<OrganizationTables & SuspensionTables & UserTables & ApiKeyTables>();

/** Why a person is a member, and how many keys of theirs act in the organization. */
export interface MemberAccess {
  readonly origin: (typeof MEMBER_ORIGINS)[number] | null;
  readonly apiKeys: number;
}

export const accessOf =
  ({ sql: reader, now }: Pick<OperationContext, 'sql' | 'now'>, id: OrganizationId): LoadBatch<UserId, MemberAccess> =>
  async (userIds) => {
    const isHere = sql<boolean>`(k.organization_id = ${id} or k.organization_id is null and ${id} <> all(k.blocked_in))`;
    const isOpen = sql<boolean>`k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now()})`;
    const rows = await reader.all(
      db
        .selectFrom('user_account as u')
        .select('u.id')
        .select((eb) => {
          const ofScim = eb.selectFrom('scim_user as s').select('s.user_id').whereRef('s.user_id', '=', 'u.id');
          const joined = eb.selectFrom('membership as m').select('m.origin').whereRef('m.user_id', '=', 'u.id');
          const own = joined.where('m.organization_id', '=', id);
          return eb
            .case()
            .when(eb.exists(ofScim.where('s.organization_id', '=', id)))
            .then(sql<(typeof MEMBER_ORIGINS)[number]>`'scim'`)
            .else(own)
            .end()
            .as('origin');
        })
        .select((eb) =>
          eb
            .selectFrom('api_key as k')
            .select(sql<number>`count(*)`.as('count'))
            .whereRef('k.user_id', '=', 'u.id')
            .where('k.kind', '=', 'KEY')
            .where(isHere)
            .where(isOpen)
            .as('apiKeys'),
        )
        .where('u.id', '=', anyOf('uuid', userIds)),
    );
    return new Map(
      rows.map(({ id: userId, origin, apiKeys }) => [userId, { origin: origin ?? null, apiKeys: apiKeys ?? 0 }]),
    );
  };

export interface ReviewedMember
  extends MemberAccess, Pick<MemberRow, 'userId' | 'email' | 'name' | 'role' | 'suspendedAt'> {
  readonly joinedAt: string;
  readonly lastSeenAt: string | null;
}

export const readAccessReview = defineOperation({
  name: 'readAccessReview',
  description:
    'Lists everybody who has access to the organization, suspended members as well, as a file: role, why they are members, when they were last seen, and how many API keys of theirs act in it.',
  access: ADMINISTER_ORGANIZATION,
  input: z.strictObject({}),
  run: (context) => Promise.resolve(reviewed(pagesWithRights(context, ADMINISTER_ORGANIZATION))),
});

async function* reviewed(next: NextPage): Batches<ReviewedMember> {
  const order = { field: 'JOINED_AT', direction: 'ASC' } as const;
  for (const list of [MEMBERS, SUSPENDED_MEMBERS])
    for await (const rows of pagesOf(next, (context, page) => list.page(context, { filter: {}, order, page }))) {
      const context = await next();
      const { id } = actingOrganization(context.actor, undefined);
      const userIds = rows.map(({ userId }) => userId);
      const accesses = await accessOf(context, id)(userIds);
      const seen = await lastUsesOf(context, id)(userIds);
      yield rows.map(({ userId, email, name, role, createdAt, suspendedAt }) => ({
        userId,
        email,
        name,
        role,
        origin: accesses.get(userId)?.origin ?? null,
        joinedAt: createdAt,
        suspendedAt,
        lastSeenAt: seen.get(userId) ?? null,
        apiKeys: accesses.get(userId)?.apiKeys ?? 0,
      }));
    }
}
