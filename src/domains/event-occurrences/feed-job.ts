import { z } from 'zod';
import { publishToFeed } from '../../core/feed.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { EventOccurrenceTables } from './entity.ts';

/** Counts of one transaction. */
const BATCH = 500;

const db = queriesOn<EventOccurrenceTables>();

/** The organization of the earliest count of a minute that is over. */
const next = (before: Date) =>
  db
    .selectFrom('sent_occurrence_count')
    .select('organization_id as organizationId')
    .where('minute', '<', before.toISOString())
    .orderBy('minute')
    .limit(1);

/** Moves the counts of sent occurrences to the feed when their minute is over. What commits later has another entry for the minute. */
export const sentOccurrencesJob = jobHandler({
  queue: 'feed-occurrences',
  data: z.unknown(),
  schedule: '* * * * *',
  run: (context) => publishSentOccurrences(context),
});

export async function publishSentOccurrences({
  em,
  sql: reader,
  now,
  signal,
}: Pick<JobContext, 'em' | 'sql' | 'now' | 'signal'>): Promise<void> {
  const minute = new Date(Math.floor(now().getTime() / 60_000) * 60_000);
  for (let row = await reader.first(next(minute)); row; row = await reader.first(next(minute))) {
    signal.throwIfAborted();
    const { organizationId } = row;
    await em.fork().transactional(async (transaction) => {
      const tables = transaction.getKysely<Readable<EventOccurrenceTables>>();
      const some = tables
        .selectFrom('sent_occurrence_count')
        .select(['definition_id', 'minute'])
        .where('organization_id', '=', organizationId)
        .where('minute', '<', minute.toISOString())
        .orderBy('minute')
        .orderBy('definition_id')
        .limit(BATCH)
        .forUpdate();
      const counts = await tables
        .deleteFrom('sent_occurrence_count')
        .where('organization_id', '=', organizationId)
        .where((eb) => eb(eb.refTuple('definition_id', 'minute'), 'in', some.$asTuple('definition_id', 'minute')))
        .returning(['definition_id as definitionId', 'minute', 'count'])
        .execute();
      for (const { definitionId, ...data } of counts)
        publishToFeed(transaction, {
          organizationId,
          type: 'event_occurrences.sent',
          subjectType: 'EventDefinition',
          subjectId: definitionId,
          data: { minute: new Date(data.minute).toISOString(), count: data.count },
        });
    });
  }
}
