import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { OrganizationId, UserId } from '../../core/ids.ts';
import { ROLES, type Scope } from '../../core/access.ts';
import type { SealedColumn } from '../../core/secrets/secret-check.ts';
import type { SecretPlace } from '../../core/secrets/secrets.ts';
import { User } from '../../domains/users/public.ts';

const IdempotencyKeySchema = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade'),
    /** SHA-256 of the organization and the idempotency key, which is not stored. */
    digest: p.text().primary(),
    organizationId: p.uuid().$type<OrganizationId>().nullable(),
    /** SHA-256 of operation and input. */
    fingerprint: p.text(),
    /** The scopes of the API key that the answer was given to. */
    scopes: p.array<Scope>(),
    /** The role of the caller at that time. */
    role: p.enum(ROLES).nullable(),
    /** The operation and the changed object, as in the audit log. Null when nothing or several objects were changed. */
    operation: p.text().nullable(),
    targetType: p.text().nullable(),
    targetId: p.uuid().nullable(),
    /** Whether the answer has sessions beside the changed object: it is erased when texts of any session are. */
    hasSessions: p.boolean().default(false),
    /** Identifies the attempt, so that an attempt that was taken over cannot store its answer. */
    claim: p.uuid(),
    /** Encrypted, because it can contain a secret. Null while the request runs outside a transaction. */
    answer: p.text().nullable(),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'idempotency_key_expiry_index', properties: ['expiresAt'] },
    { name: 'idempotency_key_session_index', properties: ['targetId'], where: `target_type = 'Session'` },
    { name: 'idempotency_key_sessions_index', properties: ['organizationId'], where: 'has_sessions' },
  ],
});

/** The stored answer to a request with an `Idempotency-Key`. */
export class IdempotencyKey extends IdempotencyKeySchema.class {}
IdempotencyKeySchema.setClass(IdempotencyKey);

export type IdempotencyTables = InferKyselyDB<typeof IdempotencyKeySchema>;

/** The place that an encrypted answer is bound to. */
export const placeOfAnswer = (userId: UserId, digest: string): SecretPlace => ({
  table: 'idempotency_key',
  row: `${userId} ${digest}`,
  field: 'answer',
});

/** The column with encrypted answers. */
export const ANSWER_COLUMN: SealedColumn = {
  table: 'idempotency_key',
  column: 'answer',
  keys: ['user_id', 'digest'],
  placeOf: ({ user_id: userId = '', digest = '' }) => placeOfAnswer(userId, digest),
  condition: `expires_at > now() and answer <> ''`,
};
