import { type Expression, sql } from 'kysely';
import { countOf } from './counts.ts';
import { type CountedPage, type Order, Ordering, type PageArguments, PagePlan } from './keyset.ts';
import { contains, queriesOn } from './queries.ts';
import type { Sql } from './sql.ts';

/** Lists of the different names that rows have, such as the agents of sessions: what a front end offers as the values of a filter. */

export interface NamedRow {
  readonly name: string;
}

export interface NameList {
  /** Both mean the same. */
  readonly filter: { readonly name?: string | null | undefined; readonly search?: string | null | undefined };
  readonly order: Order<'NAME'>;
  readonly page: PageArguments;
}

const db = queriesOn<object>();

/** A page of the names that a query selects. `list` distinguishes cursors of other lists. */
export async function pageOfNames(
  reader: Sql,
  list: string,
  names: Expression<NamedRow>,
  { filter: { name, search }, order: { direction }, page }: NameList,
): Promise<CountedPage<NamedRow>> {
  const distinct = sql<NamedRow>`(select distinct name from (${names}) as given)`;
  const all = db.selectFrom(distinct.as<'n'>(sql`n`)).$castTo<NamedRow>();
  const parts = [name, search].flatMap((part) => part || []);
  const found = parts.reduce((matching, part) => matching.where(contains(sql`n.name`, part)), all);
  const keys = [{ property: 'name', sql: 'n.name', type: 'text' }] as const;
  const plan = new PagePlan(new Ordering<NamedRow>({ name: list, keys, direction }), page);
  return {
    page: plan.toPage(await reader.page(plan.apply(found.select('n.name')))),
    total: () => countOf(reader, found),
  };
}
