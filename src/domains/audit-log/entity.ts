import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import { type Refusal, REFUSALS } from '../../core/audit.ts';
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
