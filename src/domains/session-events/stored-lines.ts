import { sql } from 'kysely';
import { requireOrganization } from '../../core/access.ts';
import type { SessionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { listOf, queriesOn } from '../../core/postgres/reading/queries.ts';
import type { SessionTables } from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';
import { keyOf, markOf, redactedLine } from './line-keys.ts';

/** The lines that events have. */

const db = queriesOn<SessionEventTables & SessionTables>();

/** The line of an event and those that follow with its parts. @param of the alias of a table with the columns of the id */
export function storedLine(
  of: string,
  { sessionId, organizationId }: { readonly sessionId: SessionId; readonly organizationId: string },
) {
  const [first, own] = [
    sql.ref(`${of}.event_id`),
    sql`session_id = ${sessionId} and organization_id = ${organizationId}`,
  ];
  return sql<{ text: string | null; encoding: string | null }>`(
    select string_agg(event_data -> 'event' ->> 'message', '' order by id) as text,
      min(event_data -> 'line' ->> 'encoding') as encoding
    from session_event where ${own} and id >= ${first} and id < ${first} + coalesce(
      (select (event_data -> 'line' ->> 'parts')::int from session_event where ${own} and id = ${first}), 1))`.as<'e'>(
    sql`e`,
  );
}

export interface Received {
  readonly isKnown: boolean;
  readonly key: string;
  /** The event of the line with the same bytes, if there is one. */
  readonly eventId: number | null;
}

interface Compared {
  readonly lines: readonly string[];
  readonly received: readonly Received[];
  /** The indexes of the lines that are compared. */
  readonly compared: readonly number[];
}

/** The texts of known lines with other bytes than those of their events, as they are stored. */
export async function differing(
  { sql: reader, actor, settings }: OperationContext,
  sessionId: SessionId,
  { lines, received, compared }: Compared,
): Promise<ReadonlyMap<number, string>> {
  const ids = [...new Set(compared.flatMap((index) => received[index]?.eventId ?? []))];
  const rows =
    ids.length === 0
      ? []
      : await reader.primary.all(
          db
            .selectFrom(sql<{ event_id: number }>`unnest(${listOf('bigint', ids)})`.as<'i'>(sql`i(event_id)`))
            .innerJoinLateral(storedLine('i', { sessionId, organizationId: requireOrganization(actor).id }), (join) =>
              join.onTrue(),
            )
            .select(['i.event_id as id', sql<string>`encode(sha256(convert_to(e.text, 'UTF8')), 'hex')`.as('mark')]),
        );
  const marks = new Map(rows.map(({ id, mark }) => [id, mark]));
  const firsts = new Map<string, number>();
  for (const [index, { key, isKnown }] of received.entries()) if (!isKnown && !firsts.has(key)) firsts.set(key, index);
  const texts = new Map<number, string>();
  for (const index of compared) {
    const { eventId = null, key = '' } = received[index] ?? {};
    const line = (lines[index] ?? '').replaceAll('\0', '\uFFFD');
    // It can repeat one of the same request.
    const isSame = eventId === null && lines[firsts.get(key) ?? -1] === lines[index];
    if (isSame || marks.get(eventId ?? -1) === markOf(line)) continue;
    const text = settings.isRecordRedacted ? await redactedLine(line) : line;
    if (marks.get(eventId ?? -1) !== markOf(text)) texts.set(index, text);
  }
  return texts;
}

/** Lines that were stored without being remembered, by a gateway of 1.0: their keys are those of what is stored. */
export async function rememberStored(
  context: OperationContext,
  sessionId: SessionId,
  { linesUntil, lastId }: { readonly linesUntil: number; readonly lastId: number },
): Promise<void> {
  const organizationId = requireOrganization(context.actor).id;
  for (let after = linesUntil; after < lastId;) {
    const events = await storedLines(context, sessionId, after, lastId);
    const until = events.length < STORED_PAGE ? lastId : (events.findLast(({ part }) => part === 1)?.id ?? lastId) - 1;
    const rows = wholeLines(events.filter(({ id }) => id <= until)).map(({ id, text }) => ({
      id,
      key: keyOf(text).key,
    }));
    await context.sql.attempt(
      db
        .with('advanced', (on) =>
          on
            .updateTable('session_stream')
            .set({ lines_until: until })
            .where('session_id', '=', sessionId)
            .where('organization_id', '=', organizationId)
            .returning('session_id'),
        )
        .insertInto('transcript_line')
        .columns(['session_id', 'file', 'line', 'organization_id', 'key', 'event_id', 'is_repeated'])
        .expression((on) =>
          on
            .selectFrom([
              'advanced',
              sql<{ id: number; key: string }>`json_to_recordset(${JSON.stringify(rows)}::json)`.as<'r'>(
                sql`r(id bigint, key uuid)`,
              ),
            ])
            .select([sql<string>`${sessionId}::uuid`.as('session_id'), sql<string>`''`.as('file'), 'r.id as line'])
            .select([sql<string>`${organizationId}::uuid`.as('organization_id'), 'r.key', 'r.id as event_id'])
            .select(sql<boolean>`false`.as('is_repeated')),
        )
        .onConflict((conflict) => conflict.doNothing()),
    );
    after = until;
  }
}

const STORED_PAGE = 500;

interface StoredPart {
  readonly id: number;
  readonly message: string;
  readonly part: number;
  readonly encoding: string | null;
}

function storedLines(
  { sql: reader, actor }: OperationContext,
  sessionId: SessionId,
  after: number,
  until: number,
): Promise<StoredPart[]> {
  const line = (name: string) => sql`event_data -> 'line' ->> ${sql.lit(name)}`;
  return reader.primary.all(
    db
      .selectFrom('session_event')
      .select('id')
      .select([
        sql<string>`event_data -> 'event' ->> 'message'`.as('message'),
        sql<number>`coalesce((${line('event')})::int, 1)`.as('part'),
        sql<string | null>`${line('encoding')}`.as('encoding'),
      ])
      .where('session_id', '=', sessionId)
      .where('organization_id', '=', requireOrganization(actor).id)
      .where('id', '>', after)
      .where('id', '<=', until)
      .where(sql<boolean>`event_data ->> 'providerEvent' = 'true'`)
      .where(sql<boolean>`coalesce((${line('event')})::int, 1) <= coalesce((${line('parts')})::int, 1)`)
      .where(sql<boolean>`event_data -> 'event' ->> 'message' is not null`)
      .orderBy('id')
      .limit(STORED_PAGE),
  );
}

/** The lines that parts make, each with the id of its first event. */
function wholeLines(parts: readonly StoredPart[]): { readonly id: number; readonly text: string }[] {
  const lines: { id: number; text: string; encoding: string | null }[] = [];
  for (const { id, message, part, encoding } of parts) {
    const last = lines.at(-1);
    if (part > 1 && last) last.text += message;
    else lines.push({ id, text: message, encoding });
  }
  return lines.map(({ id, text, encoding }) => ({
    id,
    text: encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text,
  }));
}
