import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { OperationContext } from '../../core/operation.ts';
import { type Page, type PageArguments, isBackward, isGiven } from '../../core/postgres/reading/keyset.ts';
import { type ValueOf, prepared, preparedByShape, queriesOn } from '../../core/postgres/reading/queries.ts';
import { callerOf } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';

/**
 * The index of words finds all texts with a word, and sorts them: what many texts have is found sooner by testing the newest texts, in windows
 * that grow until the page is full. What few texts have is found by the index.
 */

/** The numbers of texts that are tested. Then the index is asked after all: the texts that have the words are old. */
const WINDOWS = [500, 2_000, 8_000, 32_000] as const;
/** Up to so many texts with the words are read and sorted. */
const FEW_TEXTS = 5_000;

const db = queriesOn<SessionEventTables>();

interface Given {
  readonly organizationId: string;
  readonly start: string;
}

/** When the oldest of the texts was recorded that are in a window; none if there are no others. */
export const oldestOf = (value: ValueOf<{ organizationId: unknown; start: unknown }>, size: number) =>
  db
    .selectFrom('session_text as w')
    .select('w.created_at as since')
    .where(sql<boolean>`w.organization_id = ${value('organizationId')}::uuid`)
    .where(sql<boolean>`w.created_at <= ${value('start')}::timestamptz`)
    .orderBy('w.organization_id', 'desc')
    .orderBy('w.created_at', 'desc')
    .offset(sql.lit(size))
    .limit(sql.lit(1));

const oldest = preparedByShape<Given, { readonly size: number }>()((value, { size }) => oldestOf(value, size));

/** Whether more than a few texts have the phrases, in whatever organization: the index is one for all of them. */
const frequent = prepared<{ readonly phrases: readonly string[] }>()((value) =>
  db
    .selectFrom(
      db
        .selectFrom('session_text as t')
        .select('t.item')
        .where(hasPhrases(sql`t.document`, value('phrases')))
        .limit(sql.lit(FEW_TEXTS + 1))
        .as('found'),
    )
    .select(sql<boolean>`count(*) > ${sql.lit(FEW_TEXTS)}`.as('isFrequent')),
);

interface Search<Row> {
  readonly phrases: readonly string[];
  readonly page: PageArguments;
  /** The time of the text after which the page begins. */
  readonly start: string;
  /** The page by the index of words. */
  readonly byWords: () => Promise<Page<Row>>;
  /** The page among so many texts, which are all tested. */
  readonly amongNewest: (size: number) => Promise<Page<Row>>;
}

/** The newest texts with phrases. The number of rows that are read follows from the page, not from the number of texts that are found. */
export async function newestTexts<Row>(
  { actor, sql: reader }: Pick<OperationContext, 'actor' | 'sql'>,
  { phrases, page, start, byWords, amongNewest }: Search<Row>,
): Promise<Page<Row>> {
  if (isBackward(page) || isGiven(page.before)) return byWords();
  const { organizationId } = callerOf(actor);
  for (const [place, size] of WINDOWS.entries()) {
    if (place === 1 && !(await reader.first(frequent({ phrases })))?.isFrequent) break;
    // Few organizations have no more texts than the first window, and the index answers them soon.
    const isLast = place > 0 && !(await reader.first(oldest({ size }, { organizationId, start })));
    const found = await amongNewest(size);
    if (found.hasNextPage || isLast) return found;
  }
  return byWords();
}

/** A document that has all phrases. */
export function hasPhrases(document: RawBuilder<unknown>, phrases: RawBuilder<unknown>): RawBuilder<SqlBool> {
  // A list of texts, each of which is a phrase.
  return sql`${document} @@ (select string_agg('(' || phraseto_tsquery('simple', phrase)::text || ')', ' & ')::tsquery from unnest(${phrases}::text[]) as phrase)`;
}
