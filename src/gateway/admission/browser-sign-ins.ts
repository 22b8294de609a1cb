import type { EntityManager } from '@mikro-orm/postgresql';
import { type AuditTables, type AuditValues, type NewAuditEntry, auditInsert, auditValues } from '../../core/audit.ts';
import type { ApiKeyId, SignInId } from '../../core/ids.ts';
import { type Readable, anyOf, prepared, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { Sql } from '../../core/postgres/reading/sql.ts';
import type { BrowserSignInTables } from './entity.ts';

/** The statements about sign-ins of browsers. Those that begin and end one write the audit log entry too. */

const db = queriesOn<BrowserSignInTables & AuditTables>();

interface NewSignIn {
  readonly id: SignInId;
  readonly keyId: ApiKeyId;
  readonly at: Date;
  readonly expiresAt: Date;
}

const insert = prepared<NewSignIn & AuditValues>()((value) =>
  db
    .with('begun', (query) =>
      query
        .insertInto('browser_sign_in')
        .values({
          id: value('id'),
          key_id: value('keyId'),
          created_at: value('at'),
          expires_at: value('expiresAt'),
        })
        .returning('id'),
    )
    .with('audited', () => auditInsert(value, 'begun'))
    .selectFrom('begun')
    .select('id'),
);

export function beginSignIn(signIn: NewSignIn, entry: NewAuditEntry) {
  return insert({ ...signIn, ...auditValues(entry) });
}

const remove = prepared<{ id: SignInId } & AuditValues>()((value) =>
  db
    .with('ended', (query) => query.deleteFrom('browser_sign_in').where('id', '=', value('id')).returning('id'))
    .with('audited', () => auditInsert(value, 'ended'))
    .selectFrom('ended')
    .select('id'),
);

export function endSignIn(id: SignInId, entry: NewAuditEntry) {
  return remove({ id, ...auditValues(entry) });
}

/** Deletes a batch of expired sign-ins. @returns how many were deleted. */
export async function deleteExpiredSignIns(em: EntityManager, at: Date, batch: number): Promise<number> {
  const tables = em.getKysely<Readable<BrowserSignInTables>>();
  const expired = tables
    .selectFrom('browser_sign_in')
    .select('id')
    .where('expires_at', '<=', at.toISOString())
    .limit(batch);
  const { numDeletedRows } = await tables.deleteFrom('browser_sign_in').where('id', 'in', expired).executeTakeFirst();
  return Number(numDeletedRows);
}

/** The sign-ins that have not ended, so that live streams notice when one ends. */
export async function readSignInVersions(
  { sql: reader, now }: { readonly sql: Sql; readonly now: () => Date },
  ids: readonly SignInId[],
): Promise<Map<SignInId, string>> {
  const open = db
    .selectFrom('browser_sign_in')
    .select('id')
    .where('id', '=', anyOf('uuid', ids))
    .where('expires_at', '>', now().toISOString());
  return new Map((await reader.all(open)).map(({ id }) => [id, 'open']));
}
