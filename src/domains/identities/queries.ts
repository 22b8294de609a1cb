import { guarded } from '../../core/operation.ts';
import { type Readable, type RowOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
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

/** The identities of the caller, at most one of each issuer, the oldest first. */
export const readOwnIdentities = guarded(READ_API_KEYS, ({ sql, actor }): Promise<IdentityRow[]> =>
  sql.all(findIdentities({ userId: actor.userId })),
);
