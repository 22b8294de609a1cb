import { type PayloadFields, mutation } from '../../../core/graphql/mutations.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import type { SessionRow } from '../queries.ts';
import { deleteSession, holdSession, releaseSession } from '../retention-operations.ts';
import { SessionType } from './types.ts';

mutation(deleteSession, {
  ids: { sessionId: 'Session' },
  payload: (t) => ({
    deletedSessionId: t.id({
      description: 'Global id of the deleted session.',
      resolve: ({ sessionId }) => toGlobalId('Session', sessionId),
    }),
  }),
});

const changedSession = (t: PayloadFields<SessionRow>) => ({
  session: t.field({ type: SessionType, description: 'The changed session.', resolve: (session) => session }),
});

mutation(holdSession, { ids: { sessionId: 'Session' }, payload: changedSession });
mutation(releaseSession, { ids: { sessionId: 'Session' }, payload: changedSession });
