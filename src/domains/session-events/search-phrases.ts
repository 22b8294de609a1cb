import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** A document that has all phrases. */
export function hasPhrases(document: RawBuilder<unknown>, phrases: RawBuilder<unknown>): RawBuilder<SqlBool> {
  // A list of texts, each of which is a phrase.
  return sql`${document} @@ (select string_agg('(' || phraseto_tsquery('simple', phrase)::text || ')', ' & ')::tsquery from unnest(${phrases}::text[]) as phrase)`;
}
