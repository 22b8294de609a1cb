import type { EntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import type { ApiKeyId, OrganizationId, UserId } from './ids.ts';
import { prepared, queriesOn } from './postgres/queries.ts';
import { type Sql, sqlWithin } from './postgres/sql.ts';

/**
 * The rights of a caller at the time when a change takes effect: the key is neither revoked nor expired, the membership stands, and the role
 * is not lower than it was when the key was looked up. docs/decisions/authority-at-effect.md has the reasons.
 */

interface Caller {
  readonly keyId: ApiKeyId;
  readonly userId: UserId;
  readonly organization: { readonly id: OrganizationId; readonly role: string } | undefined;
  readonly isOperator?: boolean;
}

/** What the database compares, under the names by which `hasAuthority` finds it in a prepared statement. */
export interface AuthorityValues {
  /** Null for an operator, who needs no key. */
  readonly 'authority.keyId': string | null;
  readonly 'authority.userId': string | null;
  readonly 'authority.organizationId': string | null;
  readonly 'authority.role': string | null;
  readonly 'authority.at': Date;
}

export function authorityValues({
  actor: { keyId, userId, organization, isOperator = false },
  now,
}: {
  readonly actor: Caller;
  readonly now: () => Date;
}): AuthorityValues {
  return {
    'authority.keyId': isOperator ? null : keyId,
    'authority.userId': isOperator ? null : userId,
    'authority.organizationId': organization?.id ?? null,
    'authority.role': organization?.role ?? null,
    'authority.at': now(),
  };
}

/**
 * A condition of the statement that makes a change. Until its transaction ends, whoever takes rights away from the user waits in
 * `settleChanges`. As a separate query, so that it is asked once and before a row is locked.
 */
export function hasAuthority(value: (name: keyof AuthorityValues) => RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(select has_authority(${value('authority.keyId')}::uuid, ${value('authority.userId')}::uuid,
    ${value('authority.organizationId')}::uuid, ${value('authority.role')}::text, ${value('authority.at')}::timestamptz))`;
}

const db = queriesOn<object>();

const askAuthority = prepared<AuthorityValues>()((value) => db.selectNoFrom(hasAuthority(value).as('holds')));

/** The same as the first statement of a transaction of several. */
export async function isAuthorizedWithin(em: EntityManager, values: AuthorityValues): Promise<boolean> {
  return isAuthorized(sqlWithin(em), values);
}

export async function isAuthorized(reader: Sql, values: AuthorityValues): Promise<boolean> {
  return (await reader.first(askAuthority(values)))?.holds === true;
}

const settle = prepared<{ userId: UserId }>()((value) =>
  db.selectNoFrom(sql`wait_for_changes_of(${value('userId')}::uuid)`.as('settled')),
);

/** Waits until the changes are over that users began with rights which they have lost by now: what comes later finds the loss. */
export async function settleChanges(writer: Sql, userIds: readonly UserId[]): Promise<void> {
  for (const userId of new Set(userIds)) await writer.all(settle({ userId }));
}
