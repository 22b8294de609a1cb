import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';
import { TYPES_WITHOUT_ID } from './cache-policies.ts';

/** A normalized cache for urql, in place of `cacheExchange` of `@urql/core`. Each list is kept with all its arguments. */
export function normalizedCacheExchange(options: Partial<CacheExchangeOpts>) {
  const keys = Object.fromEntries(TYPES_WITHOUT_ID.map((name) => [name, () => null]));
  return cacheExchange({ ...options, keys: { ...keys, ...options.keys } });
}
