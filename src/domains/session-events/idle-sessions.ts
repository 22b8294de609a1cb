import { LockMode } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { jobEntry, recordAudit } from '../../core/audit.ts';
import type { OrganizationId, SessionId } from '../../core/ids.ts';
import { type JobContext, jobHandler } from '../../core/jobs.ts';
import { type Readable, queriesOn } from '../../core/postgres/reading/queries.ts';
import {
  Session,
  SessionStream,
  type SessionTables,
  isOfTranscript,
  sessionTopic,
  sessionsTopic,
} from '../sessions/public.ts';
import type { SessionEventTables } from './entity.ts';

/** Completes the sessions of transcripts to which nothing was added for a while. A later line queues and continues them. */
export const idleSessionsJob = jobHandler({
  queue: 'idle-sessions',
  data: z.unknown(),
  schedule: '* * * * *',
  run: (context, _, jobId) => completeIdleSessions(context, jobId),
});

export const IDLE_MS = 30 * 60_000;
const BATCH = 200;

type Context = Pick<JobContext, 'em' | 'sql' | 'now' | 'storedNow' | 'newId' | 'notifier' | 'signal'>;

export async function completeIdleSessions(context: Context, jobId: string): Promise<void> {
  const before = new Date((await context.storedNow()).getTime() - IDLE_MS).toISOString();
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const some = await context.sql.primary.all(idle(db, { before, after }).limit(BATCH));
    for (const each of some) {
      context.signal.throwIfAborted();
      await complete(context, { ...each, jobId, before });
    }
    const last = some.at(-1);
    if (!last) return;
    after = last.id;
  }
}

type Tables = SessionEventTables & SessionTables;
const db = queriesOn<Tables>();

/** The last event counts, or the last change of a session without one: what an agent has written is older. */
const idle = (
  tables: Kysely<Readable<Tables>>,
  { before, after, id }: { readonly before: string; readonly after?: string; readonly id?: SessionId },
) =>
  tables
    .selectFrom('session as s')
    .innerJoin('session_stream as h', (join) =>
      join.onRef('h.session_id', '=', 's.id').onRef('h.organization_id', '=', 's.organization_id'),
    )
    .leftJoin('session_event as e', (join) =>
      join
        .onRef('e.session_id', '=', 's.id')
        .onRef('e.organization_id', '=', 's.organization_id')
        .onRef('e.id', '=', 'h.last_id'),
    )
    .select(['s.id', 's.organization_id as organizationId'])
    .where('s.state', '=', 'inProgress')
    .where(isOfTranscript('s'))
    .where('s.updated_at', '<', before)
    // A recorder has said that the agent still runs.
    .where('s.last_seen_at', '<', before)
    .where((eb) => eb.or([eb('e.id', 'is', null), eb('e.stored_at', '<', before)]))
    .$if(after !== undefined, (query) => query.where('s.id', '>', after as SessionId))
    .$if(id !== undefined, (query) => query.where('s.id', '=', id as SessionId))
    .orderBy('s.id');

interface Idle {
  readonly id: SessionId;
  readonly organizationId: OrganizationId;
  readonly jobId: string;
  readonly before: string;
}

async function complete(context: Context, { id, organizationId, jobId, before }: Idle): Promise<void> {
  const isDone = await context.em.fork().transactional(async (em) => {
    // In the same order as appending.
    const key = { session: id, organization: organizationId };
    const stream = await em.findOne(SessionStream, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const session = await em.findOne(
      Session,
      { id, organization: organizationId },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    // Something can have been added meanwhile.
    const still = await idle(em.getKysely<Readable<Tables>>(), { before, id }).execute();
    if (!stream || !session || still.length === 0) return false;
    session.state = 'completed';
    session.updatedAt = context.now();
    stream.close(session.updatedAt);
    const target = { type: 'Session' as const, id, organizationId, detail: 'completed' };
    await recordAudit(em, jobEntry(context, jobId, 'transitionSession', target));
    return true;
  });
  if (!isDone) return;
  for (const topic of [sessionTopic(id), sessionsTopic(organizationId)]) context.notifier.publish(topic);
}
