import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { ApiKeyId } from '../../core/ids.ts';
import { type Readable } from '../../core/postgres/reading/queries.ts';
import type { OAuthTables } from './entity.ts';

/** What the authorization server keeps: tokens, codes, registered clients, and the state of authorizations. Nothing is found by its secret. */

type Payload = Readonly<Record<string, unknown>>;

export interface NewArtifact {
  /** The secret that it is found by; only its hash is stored. */
  readonly id: string;
  readonly kind: string;
  readonly payload: Payload;
  readonly keyId: ApiKeyId | null;
  /** Another secret that it is found by. */
  readonly reference?: string | undefined;
  readonly expiresAt: Date;
}

export interface Artifact {
  readonly payload: Payload;
  readonly consumedAt: Date | null;
  readonly answer: string | null;
  readonly expiresAt: Date;
}

/** SHA-256. All but the codes that people type are random, and need no slow hash; those codes last for ten minutes. */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

const tables = (em: EntityManager) => em.getKysely<Readable<OAuthTables>>();

/** Stores an artifact, or replaces what is known of it. */
export async function saveArtifact(em: EntityManager, artifact: NewArtifact): Promise<void> {
  const { id, kind, payload, keyId, reference, expiresAt } = artifact;
  await tables(em)
    .insertInto('oauth_artifact')
    .values({
      hash: hashOf(id),
      kind,
      payload: sql<Payload>`${JSON.stringify(payload)}::jsonb`,
      key_id: keyId,
      reference: reference === undefined ? null : hashOf(reference),
      expires_at: expiresAt,
    })
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet((eb) => ({
        payload: eb.ref('excluded.payload'),
        key_id: eb.ref('excluded.key_id'),
        expires_at: eb.ref('excluded.expires_at'),
      })),
    )
    .execute();
}

/** An artifact by its secret, or by the other one. */
type Wanted = { readonly kind: string } & ({ readonly id: string } | { readonly reference: string });

const keyOf = (wanted: Wanted): readonly ['hash' | 'reference', Buffer] =>
  'id' in wanted ? ['hash', hashOf(wanted.id)] : ['reference', hashOf(wanted.reference)];

/** Finds an artifact that has not expired. `lock` locks it until the transaction ends. */
export async function findArtifact(
  em: EntityManager,
  wanted: Wanted,
  at: Date,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<Artifact | undefined> {
  const [column, hash] = keyOf(wanted);
  const row = await tables(em)
    .selectFrom('oauth_artifact')
    .select(['payload', 'consumed_at as consumedAt', 'answer', 'expires_at as expiresAt'])
    .where(column, '=', hash)
    .where('kind', '=', wanted.kind)
    .where(sql<boolean>`expires_at > ${at}::timestamptz`)
    .$if(lock, (query) => query.forUpdate())
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    payload: row.payload,
    consumedAt: row.consumedAt === null ? null : new Date(row.consumedAt),
    answer: row.answer,
    expiresAt: new Date(row.expiresAt),
  };
}

interface Change {
  readonly payload?: Payload;
  readonly keyId?: ApiKeyId | null;
  readonly consumedAt?: Date;
  readonly expiresAt?: Date;
  readonly answer?: string;
}

export async function changeArtifact(em: EntityManager, wanted: Wanted, change: Change): Promise<void> {
  const [column, hash] = keyOf(wanted);
  const { payload, keyId, consumedAt, expiresAt, answer } = change;
  await tables(em)
    .updateTable('oauth_artifact')
    .set({
      ...(payload && { payload: sql<Payload>`${JSON.stringify(payload)}::jsonb` }),
      ...(keyId !== undefined && { key_id: keyId }),
      ...(consumedAt && { consumed_at: consumedAt }),
      ...(expiresAt && { expires_at: expiresAt }),
      ...(answer !== undefined && { answer }),
    })
    .where(column, '=', hash)
    .where('kind', '=', wanted.kind)
    .execute();
}

export async function deleteArtifact(em: EntityManager, wanted: Wanted): Promise<void> {
  const [column, hash] = keyOf(wanted);
  await tables(em).deleteFrom('oauth_artifact').where(column, '=', hash).where('kind', '=', wanted.kind).execute();
}

/** Deletes a batch of expired tokens, codes and registered clients. @returns how many were deleted. */
export async function deleteExpiredArtifacts(em: EntityManager, at: Date, batch: number): Promise<number> {
  const expired = tables(em)
    .selectFrom('oauth_artifact')
    .select('hash')
    .where('expires_at', '<=', at.toISOString())
    .limit(batch);
  const { numDeletedRows } = await tables(em)
    .deleteFrom('oauth_artifact')
    .where('hash', 'in', expired)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
