import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { ApiKeyId, OrganizationId, UserId } from './ids.ts';
import { prepared, queriesOn } from './postgres/reading/queries.ts';
import { type Sql, sqlWithin } from './postgres/reading/sql.ts';

/**
 * Checks the rights of a caller when a change takes effect: the key is neither revoked nor expired, the membership
 * still exists, and the role is not lower than at the lookup of the key. The reasons are in
 * docs/decisions/authority-at-effect.md.
 */

interface Caller {
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  readonly organization: { readonly id: OrganizationId; readonly role: string } | undefined;
  readonly isOperator?: boolean;
}

/** The values that the database compares, named as `hasAuthority` refers to them in a prepared statement. */
export interface AuthorityValues {
  /** Null for the command line, which needs no key. */
  readonly 'authority.keyId': string | null;
  readonly 'authority.userId': string | null;
  readonly 'authority.organizationId': string | null;
  readonly 'authority.role': string | null;
  readonly 'authority.at': Date;
}

export const authorityValues = ({
  actor: { keyId, userId, organization, isOperator = false },
  now,
}: {
  readonly actor: Caller;
  readonly now: () => Date;
}): AuthorityValues => ({
  'authority.keyId': isOperator ? null : keyId,
  'authority.userId': isOperator ? null : userId,
  'authority.organizationId': organization?.id ?? null,
  'authority.role': organization?.role ?? null,
  'authority.at': now(),
});

/**
 * A condition for the statement that makes a change. Operations that remove rights of the user wait in `settleChanges`
 * until its transaction ends. It is a subquery, so that it is evaluated once and before a row is locked.
 */
export const hasAuthority = (
  value: (name: keyof AuthorityValues) => RawBuilder<unknown>,
): RawBuilder<boolean> => sql<boolean>`(select has_authority(${value('authority.keyId')}::uuid, ${value('authority.userId')}::uuid,
    ${value('authority.organizationId')}::uuid, ${value('authority.role')}::text, ${value('authority.at')}::timestamptz))`;

const db = queriesOn<object>();

const askAuthority = prepared<AuthorityValues>()((value) => db.selectNoFrom(hasAuthority(value).as('holds')));

/** The same check as the first statement of a transaction. */
export const isAuthorizedWithin = async (em: EntityManager, values: AuthorityValues): Promise<boolean> =>
  isAuthorized(sqlWithin(em), values);

export const isAuthorized = async (reader: Sql, values: AuthorityValues): Promise<boolean> =>
  (await reader.first(askAuthority(values)))?.holds === true;

const settle = prepared<{ userId: UserId }>()((value) =>
  db.selectNoFrom(sql`wait_for_changes_of(${value('userId')}::uuid)`.as('settled')),
);

/** Waits until all changes have ended that the users began before they lost rights. Later changes see the loss. */
export async function settleChanges(writer: Sql, userIds: readonly UserId[]): Promise<void> {
  for (const userId of new Set(userIds)) await writer.all(settle({ userId }));
}
