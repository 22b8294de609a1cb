import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { ApiKeyId } from '../../core/ids.ts';

const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limit',
  properties: {
    /** The minute. It comes first in the primary key, so that old minutes are found without another index. */
    windowStart: p.datetime().primary(),
    keyId: p.uuid().$type<ApiKeyId>().primary(),
    requests: p.integer(),
    /** GraphQL cost points. */
    cost: p.integer(),
  },
});

/**
 * What one API key has used of one minute. The table is UNLOGGED, as its migration says: no write waits for the disk, and a crash of the
 * database forgets the present minute. No foreign key: of a deleted key the rows are gone within hours.
 */
export class RateLimit extends RateLimitSchema.class {}
RateLimitSchema.setClass(RateLimit);

export type RateLimitTables = InferKyselyDB<typeof RateLimitSchema>;
