import { routesOf } from '../../core/http/route.ts';
import { listDocument, readDetailedList } from '../../core/input/lists.ts';
import type { OperationContext } from '../../core/operation.ts';
import { DOCUMENT_COLUMNS, SESSIONS, readSessionDetails, sessionFilterOf } from '../sessions/public.ts';
import { toSessionDocument } from '../sessions/rest-documents.ts';
import { searchSessionsInput } from './input.ts';
import { type SessionMatch, searchSessions } from './search-operations.ts';
import { matchDocument } from './documents.ts';

const route = routesOf('Sessions');

/** The matches with the documents of their sessions. A session that was deleted in the meantime has none. */
async function toDocuments(context: OperationContext, matches: readonly SessionMatch[]) {
  const ids = [...new Set(matches.map(({ sessionId }) => sessionId))];
  const sessions = await SESSIONS.find(context, ids, DOCUMENT_COLUMNS);
  const details = await readSessionDetails(context, sessions);
  const documents = new Map(
    details.map((each) => [each.session.id, toSessionDocument(each, context.settings.publicUrl)]),
  );
  return matches.flatMap(({ sessionId, eventId, excerpt }) => {
    const session = documents.get(sessionId);
    return session ? [{ session, eventId, excerpt }] : [];
  });
}

export const searchRoutes = [
  route('GET /v1/session-search', searchSessions, {
    input: searchSessionsInput,
    output: listDocument(matchDocument),
    examples: { output: { items: [], nextCursor: null } },
    run: async (context, { text: phrases, limit, cursor, ...conditions }) =>
      readDetailedList(
        { limit, cursor },
        context.budget,
        (page) => searchSessions(context, { phrases, filter: sessionFilterOf(conditions), page }),
        (matches) => toDocuments(context, matches),
      ),
  }),
];
