import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';

const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limit',
  properties: {
    /** Start of the minute. It is the first column of the primary key, so that old rows are found without another index. */
    windowStart: p.datetime().primary(),
    /** The counter: the id of a credential, or of the user for all keys together; see `countersOf`. */
    keyId: p.uuid().primary(),
    requests: p.integer(),
    /** GraphQL cost points. */
    cost: p.integer(),
  },
});

/**
 * Requests and cost of an API key, a browser or a user in one minute. The table is UNLOGGED: no write waits for the disk, and a crash of the
 * database loses the current minute. There is no foreign key, because the rows are removed within hours.
 */
export class RateLimit extends RateLimitSchema.class {}
RateLimitSchema.setClass(RateLimit);

export type RateLimitTables = InferKyselyDB<typeof RateLimitSchema>;
