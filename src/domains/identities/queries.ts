import { groupBy } from '../../core/arrays.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { defineList, inActingOrganization } from '../../core/postgres/reading/lists.ts';
import { type Readable, type RowOf, anyOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { UserId } from '../../core/ids.ts';
import type { SuspensionTables } from '../memberships/public.ts';
import type { OrganizationTables } from '../organizations/public.ts';
import { READ_API_KEYS } from '../api-keys/public.ts';
import type { IdentityTables } from './entity.ts';

const db = queriesOn<IdentityTables & OrganizationTables & SuspensionTables>();

export type IdentityRow = Pick<RowOf<Readable<IdentityTables>['identity']>, 'issuer' | 'createdAt' | 'lastSignedInAt'>;

const findIdentities = prepared<{ userId: UserId }>()((value) =>
  db
    .selectFrom('identity')
    .select(['issuer', 'created_at as createdAt', 'last_signed_in_at as lastSignedInAt'])
    .where('user_id', '=', value('userId'))
    .orderBy('created_at')
    .limit(100),
);

/** The identities of each of these people. */
export const identitiesOf =
  ({ sql }: Pick<OperationContext, 'sql'>): LoadBatch<UserId, readonly IdentityRow[]> =>
  async (userIds) => {
    const rows = await sql.all(
      db
        .selectFrom('identity')
        .select(['user_id as userId', 'issuer', 'created_at as createdAt', 'last_signed_in_at as lastSignedInAt'])
        .where('user_id', '=', anyOf('uuid', userIds))
        .orderBy('created_at'),
    );
    return groupBy(rows, ({ userId }) => userId);
  };

const PLACES = db
  .selectFrom('membership')
  .select(['organization_id', 'user_id'])
  .unionAll(db.selectFrom('suspended_membership').select(['organization_id', 'user_id']));

/** The identities of the members of the acting organization, also of suspended ones, for its export. */
export const IDENTITIES = defineList<IdentityRow & Readonly<Record<'id' | 'userId', string>>, object, 'CREATED_AT'>()(
  db.selectFrom('identity as i').innerJoin(PLACES.as('m'), 'm.user_id', 'i.user_id'),
  {
    name: 'IDENTITY',
    alias: 'i',
    columns: ['id', 'userId', 'issuer', 'createdAt', 'lastSignedInAt'],
    reach: inActingOrganization,
    reachAlias: 'm',
    filter: () => ({}),
    orders: { CREATED_AT: { createdAt: 'timestamptz' } },
  },
);

/** The identities of the caller, at most one of each issuer, the oldest first. */
export const readOwnIdentities = guarded(READ_API_KEYS, ({ sql, actor }): Promise<IdentityRow[]> =>
  sql.all(findIdentities({ userId: actor.userId })),
);
