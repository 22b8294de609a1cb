import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { ROLES, type Scope } from '../../core/operation.ts';
import type { SealedColumn } from '../../core/secrets/secret-check.ts';
import type { SecretPlace } from '../../core/secrets/secrets.ts';
import { User } from '../../domains/users/entity.ts';

const IdempotencyKeySchema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    /** SHA-256 of organization and key: the key itself is the caller's, and is not kept. */
    digest: p.text().primary(),
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** SHA-256 of operation and input. */
    fingerprint: p.text(),
    /** What the API key could do that the answer was given to. */
    scopes: p.array<Scope>(),
    /** The role that its caller had in the organization. */
    role: p.enum(ROLES).nullable(),
    /** The operation and what it has changed, as the audit log names them; null where it has changed nothing, or several at once. */
    operation: p.text().nullable(),
    targetType: p.text().nullable(),
    targetId: p.uuid().nullable(),
    /** Whose request this is: one that took too long and was taken over does not answer for its successor. */
    claim: p.uuid(),
    /** Encrypted, since it may show a secret; null while the request runs outside of a transaction. */
    answer: p.text().nullable(),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [{ name: 'idempotency_key_expiry_index', properties: ['expiresAt'] }],
});

/** The answer to a request that carried an `Idempotency-Key`. */
export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);

export type IdempotencyTables = InferKyselyDB<typeof IdempotencyKeySchema>;

/** Where the answer of a key is sealed for. */
export function placeOfAnswer(userId: UserId, digest: string): SecretPlace {
  return { table: 'idempotency_key', row: `${userId} ${digest}`, field: 'answer' };
}

/** The same for the check at the start. */
export const ANSWER_COLUMN: SealedColumn = {
  table: 'idempotency_key',
  column: 'answer',
  keys: ['user_id', 'digest'],
  placeOf: ({ user_id: userId = '', digest = '' }) => placeOfAnswer(userId, digest),
  condition: 'expires_at > now()',
};
