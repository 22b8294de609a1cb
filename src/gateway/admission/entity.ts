import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId } from '../../core/ids.ts';

const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limit',
  properties: {
    /** Start of the minute. It is the first column of the primary key, so that old rows are found without another index. */
    windowStart: p.datetime().primary(),
    keyId: p.uuid().$type<ApiKeyId>().primary(),
    requests: p.integer(),
    /** GraphQL cost points. */
    cost: p.integer(),
  },
});

/**
 * Requests and cost of an API key in one minute. The table is UNLOGGED: no write waits for the disk, and a crash of the database loses the
 * current minute. There is no foreign key, because rows of a deleted key are removed within hours.
 */
export class RateLimit extends RateLimitSchema.class {}
RateLimitSchema.setClass(RateLimit);

export type RateLimitTables = InferKyselyDB<typeof RateLimitSchema>;
