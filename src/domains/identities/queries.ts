import { groupBy } from '../../core/arrays.ts';
import type { LoadBatch } from '../../core/graphql/batches.ts';
import { type OperationContext, guarded } from '../../core/operation.ts';
import { type Readable, type RowOf, anyOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { UserId } from '../../core/ids.ts';
import { READ_API_KEYS } from '../api-keys/public.ts';
import type { IdentityTables } from './entity.ts';

const db = queriesOn<IdentityTables>();

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

/** The identities of the caller, at most one of each issuer, the oldest first. */
export const readOwnIdentities = guarded(READ_API_KEYS, ({ sql, actor }): Promise<IdentityRow[]> =>
  sql.all(findIdentities({ userId: actor.userId })),
);
