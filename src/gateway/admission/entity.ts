import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { SignInId } from '../../core/ids.ts';
import { ApiKey } from '../../domains/api-keys/public.ts';

const RateLimitSchema = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limit',
  properties: {
    /** Start of the minute. It is the first column of the primary key, so that old rows are found without another index. */
    windowStart: p.datetime().primary(),
    /** The counter: the id of a key, of a browser's sign-in, or of the user for all keys together; see `countersOf`. */
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

const BrowserSignInSchema = defineEntity({
  name: 'BrowserSignIn',
  tableName: 'browser_sign_in',
  properties: {
    id: p.uuid().$type<SignInId>().primary(),
    key: () => p.manyToOne(ApiKey).deleteRule('cascade'),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'browser_sign_in_key_index', properties: ['key'] },
    { name: 'browser_sign_in_expiry_index', properties: ['expiresAt'] },
  ],
});

/** A browser that is signed in with a key. Its cookie names the row, which the sign-out deletes. */
export class BrowserSignIn extends BrowserSignInSchema.class {}
BrowserSignInSchema.setClass(BrowserSignIn);

export type BrowserSignInTables = InferKyselyDB<typeof BrowserSignInSchema>;
