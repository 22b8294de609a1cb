import { sql } from 'kysely';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { requireOrganization } from '../../core/access.ts';
import { type OperationContext, defineOperation } from '../../core/operation.ts';
import { conditionsOn } from '../../core/postgres/reading/conditions.ts';
import type { CountedPage, PageArguments } from '../../core/postgres/reading/keyset.ts';
import { defineList } from '../../core/postgres/reading/lists.ts';
import { listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import {
  READ_SESSIONS,
  type SessionFilter,
  type SessionTables,
  callerOf,
  readableBy,
  sessionFilterOn,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { excerptOf, unescaped } from './search-text.ts';
import { hasPhrases, newestTexts, oldestOf } from './search-windows.ts';

/** Finds texts in the sessions that the caller can read. */

const db = queriesOn<SessionEventTables & SessionTables>();

export interface SessionMatch {
  readonly sessionId: SessionId;
  /** Null when the title was found. */
  readonly eventId: number | null;
  readonly excerpt: string;
}

interface FoundText {
  readonly sessionId: SessionId;
  readonly eventId: number;
  readonly item: string;
  readonly createdAt: string;
  readonly title: string;
}

interface TextFilter extends SessionFilter {
  readonly phrases?: readonly string[];
  /** The same without the index of words. */
  readonly tested?: readonly string[];
  /** The number of texts that are tested, as text, and the time at which they begin. */
  readonly newest?: string;
  readonly start?: string;
}

/** The texts that have all phrases, in sessions that the caller can read. */
const FOUND = defineList<FoundText, TextFilter, 'CREATED_AT'>()(
  db
    .selectFrom('session_text as t')
    .innerJoin('session as s', (join) =>
      join.onRef('s.id', '=', 't.session_id').onRef('s.organization_id', '=', 't.organization_id'),
    ),
  {
    name: () => 'SESSION_MATCH',
    alias: 't',
    key: 'item',
    columns: ['sessionId', 'eventId', 'item', 'createdAt', 'title'],
    expressions: { title: 's.title' },
    reach: ({ actor }) => readableBy(callerOf(actor)),
    reachAlias: 's',
    where: (value) => sql<boolean>`t.organization_id = ${value('organizationId')}::uuid`,
    values: ({ actor }) => callerOf(actor),
    filter: () => ({
      ...sessionFilterOn(conditionsOn('s')),
      phrases: (given) => hasPhrases(sql`t.document`, given),
      // No index has the expression.
      tested: (given) => hasPhrases(sql`(t.document || '')`, given),
      newest: {
        inText: (size, value) => sql`t.created_at >= coalesce((${oldestOf(value, Number(size))}), '-infinity')`,
      },
      start: (given) => sql`t.created_at <= ${given}::timestamptz`,
    }),
    orders: { CREATED_AT: { createdAt: 'timestamptz', sessionId: 'uuid', item: 'text' } },
    otherwise: { field: 'CREATED_AT', direction: 'DESC' },
  },
);

export interface SessionSearch {
  readonly organizationId?: OrganizationId;
  readonly phrases: readonly string[];
  readonly filter: SessionFilter;
  readonly page: PageArguments;
}

export const searchSessions = defineOperation({
  name: 'searchSessions',
  description:
    'Finds texts in the sessions that the caller can read: titles, messages, and names, inputs and outputs of tools, newest first. Every word of the text must be found, in any order; a `"quoted phrase"` must be found as it is. Case and accents are ignored. New events are found some seconds after they were recorded.',
  access: READ_SESSIONS,
  run: async (
    context: OperationContext,
    { organizationId, phrases, filter, page }: SessionSearch,
  ): Promise<CountedPage<SessionMatch>> => {
    requireOrganization(context.actor, organizationId);
    const asked = { ...filter, phrases };
    const start = String(FOUND.startOf(context, { filter: asked, page }) ?? 'infinity');
    const { rows, cursorOf, ...rest } = await newestTexts(context, {
      phrases,
      page,
      start,
      byWords: () => FOUND.page(context, { filter: asked, page }),
      amongNewest: (size) =>
        FOUND.page(context, { filter: { ...filter, tested: phrases, newest: String(size), start }, page }),
    });
    const matches = await matchesOf(context, rows, phrases);
    const rowOf = new Map(matches.map((match, index) => [match, rows[index]]));
    return {
      page: {
        ...rest,
        rows: matches,
        cursorOf: (match) => {
          const row = rowOf.get(match);
          if (!row) throw new Error('a match of another page');
          return cursorOf(row);
        },
      },
      total: () => FOUND.count(context, asked),
    };
  },
});

/** So much of a text is read for its excerpt, from before the first word of the search on. */
const WINDOW = { before: 300, length: 2000 };

/** The searched text of an event, as \`searchedText\` reads it. */
const TEXT = sql<string>`case when e.event_data -> 'toolResult' ->> 'status' in ('completed', 'error')
    then concat_ws(E'\\n', e.event_data -> 'toolResult' ->> 'error', e.event_data -> 'toolResult' ->> 'output')
    else concat_ws(E'\\n', e.event_data ->> 'toolName',
      coalesce(nullif(e.event_data ->> 'accumulatedText', ''), e.event_data -> 'toolResult' ->> 'output', e.event_data ->> 'delta', e.event_data -> 'event' ->> 'message', '')) end`;
/** The text without case and accents. Its length can differ a little. */
const PLAIN_TEXT = sql<string>`regexp_replace(normalize(lower(${TEXT}), NFKD), '[\\u0300-\\u036f]', '', 'g')`;

/** Adds the excerpts, with one statement for all events. Only a part of each text is read. */
async function matchesOf(
  { actor, sql: reader }: OperationContext,
  rows: readonly FoundText[],
  phrases: readonly string[],
): Promise<SessionMatch[]> {
  const inEvents = rows.filter(({ eventId }) => eventId > 0);
  const [word = ''] = phrases[0]?.split(' ') ?? [];
  const wanted = sql<{ session_id: SessionId; id: number }>`unnest(${listOf(
    'uuid',
    inEvents.map(({ sessionId }) => sessionId),
  )}, ${listOf(
    'bigint',
    inEvents.map(({ eventId }) => eventId),
  )})`;
  const start = sql<number>`greatest(1, position(${word} in ${PLAIN_TEXT}) - ${sql.lit(WINDOW.before)})`;
  const texts =
    inEvents.length === 0
      ? []
      : await reader.all(
          db
            .selectFrom(wanted.as<'k'>(sql`k(session_id, id)`))
            // With the limit each event is looked up, whatever the plan expects of their number.
            .innerJoinLateral(
              (eb) =>
                eb
                  .selectFrom('session_event as o')
                  .select(['o.session_id', 'o.id', 'o.event_data'])
                  .whereRef('o.session_id', '=', 'k.session_id')
                  .whereRef('o.id', '=', 'k.id')
                  .where('o.organization_id', '=', callerOf(actor).organizationId)
                  .limit(1)
                  .as('e'),
              (join) => join.onTrue(),
            )
            .select(['e.session_id as sessionId', 'e.id'])
            .select(sql<string>`left(${TEXT}, 300)`.as('beginning'))
            .select(sql<string>`substring(${TEXT} from ${start} for ${sql.lit(WINDOW.length)})`.as('text')),
        );
  const textOf = new Map(
    texts.map(({ sessionId, id, text, beginning }) => [`${sessionId} ${id}`, unescaped(text, beginning)]),
  );
  return rows.map(({ sessionId, eventId, title }) => ({
    sessionId,
    eventId: eventId === 0 ? null : eventId,
    excerpt: excerptOf(eventId === 0 ? title : (textOf.get(`${sessionId} ${eventId}`) ?? ''), phrases),
  }));
}
