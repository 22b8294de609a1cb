import type { SessionId } from '../../core/ids.ts';
import { RawJson } from '../../core/text/raw-json.ts';
import { WORK } from '../../core/work-budget.ts';
import { DELETION_BATCH, type Module, deletionStep } from '../../core/module.ts';
import { deleteExpired, forgetMessagesOf } from './counted-messages.ts';
import {
  CountedMessage,
  RemovedEntry,
  SessionEntry,
  SessionEvent,
  SessionEventBatch,
  SessionFold,
  SessionText,
  TranscriptLine,
} from './entity.ts';
import { idleSessionsJob } from './idle-sessions.ts';
import { deleteOrphans, sessionPurgeJob } from './purge.ts';
import { searchRoutes } from './rest-search.ts';
import { entryRoutes } from './rest-entries.ts';
import { sessionEventRoutes } from './rest.ts';
import { type SessionEventRow, pagesOfEvents } from './queries.ts';

export const sessionEvents = {
  entities: [
    SessionEventBatch,
    SessionEvent,
    SessionText,
    TranscriptLine,
    CountedMessage,
    SessionFold,
    SessionEntry,
    RemovedEntry,
  ],
  graphql: () =>
    Promise.all([
      import('./graphql/operations.ts'),
      import('./graphql/search.ts'),
      import('./graphql/outline.ts'),
      import('./graphql/entries.ts'),
      import('./graphql/failure.ts'),
    ]),
  routes: [...sessionEventRoutes, ...entryRoutes, ...searchRoutes],
  pages: [],
  jobs: () => [sessionPurgeJob, idleSessionsJob],
  cleanups: {
    'batch ids of deleted sessions': (em, at, batch) => deleteOrphans(em, { table: 'session_event_batch', at, batch }),
    'counted messages of deleted sessions': deleteExpired,
    'lines of deleted sessions': (em, at, batch) => deleteOrphans(em, { table: 'transcript_line', at, batch }),
  },
  topics: [],
  deletionSteps: {
    ofUser: [deletionStep('counted messages', ({ em }, { id }) => forgetMessagesOf(em, id, DELETION_BATCH))],
    ofOrganization: [],
  },
  exports: [
    {
      kind: 'sessionEvent',
      below: 'session',
      rowsOfPage: WORK.exportedEvents,
      pages: (context, page, ids: readonly SessionId[], selected) =>
        pagesOfEvents(context, { page, selected, maxBytes: WORK.exportedBytes, isAudited: true })(ids),
      lineOf: (event: SessionEventRow) => ({ ...event, eventData: new RawJson(event.eventData) }),
    },
  ],
  replays: {},
} as const satisfies Module;
