import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { type Refusal, REFUSALS } from '../../core/audit.ts';
import type { ApiKeyId, OrganizationId } from '../../core/ids.ts';
import { ApiKey } from '../api-keys/public.ts';

const RefusedAttemptSchema = defineEntity({
  name: 'RefusedAttempt',
  tableName: 'refused_attempt',
  properties: {
    key: () => p.manyToOne(ApiKey).primary().deleteRule('cascade'),
    refusal: p.enum(REFUSALS).$type<Refusal>().primary(),
    /** When the latest entry was written. */
    recordedAt: p.datetime(),
  },
});

/** When a refused attempt was last recorded for a key and a reason. Limits the entries of all processes together to one a minute. */
export class RefusedAttempt extends RefusedAttemptSchema.class {}
RefusedAttemptSchema.setClass(RefusedAttempt);

export type RefusedAttemptTables = InferKyselyDB<typeof RefusedAttemptSchema>;

const ErasedActorSchema = defineEntity({
  name: 'ErasedActor',
  tableName: 'erased_actor',
  properties: {
    /** A key that entries name and that was deleted with the account of its owner. */
    keyId: p.uuid().$type<ApiKeyId>().primary(),
    /** Random, and the same for all keys of the person. */
    label: p.text(),
    erasedAt: p.datetime(),
  },
});

/** By which the entries of an erased account can be told from those of another one. */
export class ErasedActor extends ErasedActorSchema.class {}
ErasedActorSchema.setClass(ErasedActor);

export type ErasedActorTables = InferKyselyDB<typeof ErasedActorSchema>;

const AuditStreamSchema = defineEntity({
  name: 'AuditStream',
  tableName: 'audit_stream',
  properties: {
    /** Not a foreign key, like that of the entries. */
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    lastNumber: p.bigint('number'),
  },
});

/** The number of the last entry that can be followed. */
export class AuditStream extends AuditStreamSchema.class {}
AuditStreamSchema.setClass(AuditStream);

export type AuditStreamTables = InferKyselyDB<typeof AuditStreamSchema>;
