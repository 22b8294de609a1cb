import type { z } from 'zod';
import { route } from '../../core/http/route.ts';
import { listDocument, readList } from '../../core/input/lists.ts';
import type { OperationContext } from '../../core/operation.ts';
import { readSession, readSessionDetails } from './details.ts';
import {
  type SessionFilter,
  createSessionInput,
  listSessionsInput,
  sessionReference,
  updateSessionInput,
} from './input.ts';
import { listSessions, updateSession } from './operations.ts';
import type { SessionRow } from './queries.ts';
import { createSession } from './recording-operations.ts';
import { sessionExample } from './rest-examples.ts';
import { sessionDocument, toSessionDocument } from './rest-documents.ts';

const tag = 'Sessions';

async function toDocuments(context: OperationContext, sessions: readonly SessionRow[]) {
  const details = await readSessionDetails(context, sessions);
  return details.map((each) => toSessionDocument(each, context.settings.publicUrl));
}

async function toDocument(context: OperationContext, session: SessionRow) {
  const [document] = await toDocuments(context, [session]);
  if (!document) throw new Error('a session without its document');
  return document;
}

/** Converts query parameters, whose names are singular because they are repeated for each value, to the filter of the operation. */
function filterOf({
  state: states,
  sessionType: sessionTypes,
  mode: modes,
  visibility: visibilities,
  projectId: projectIds,
  ...filter
}: Omit<z.output<typeof listSessionsInput>, 'limit' | 'cursor' | 'orderBy' | 'sortOrder'>): SessionFilter {
  return { ...filter, states, sessionTypes, modes, visibilities, projectIds };
}

const ORDERS = { createdAt: 'CREATED_AT', updatedAt: 'UPDATED_AT', lastSeenAt: 'LAST_SEEN_AT' } as const;

export const sessionRoutes = [
  route({
    method: 'GET',
    path: '/v1/sessions',
    operationId: 'listSessions',
    access: listSessions.access,
    tag,
    summary: 'List the sessions that the caller can read.',
    description:
      'Lists the public sessions of the organization and the private ones of the caller. Administrators also see the private sessions of other members. Newest first by default; see `orderBy` and `sortOrder`. Needs the scope `sessions.read`.',
    input: listSessionsInput,
    output: listDocument(sessionDocument),
    status: 200,
    errors: [400],
    examples: { output: { items: [sessionExample], nextCursor: null } },
    run: async (context, { limit, cursor, orderBy, sortOrder, ...conditions }) => {
      const order = { field: ORDERS[orderBy], direction: sortOrder };
      const filter = filterOf(conditions);
      const page = await readList(
        { limit, cursor },
        (given) => listSessions(context, { filter, order, page: given }),
        (session) => session,
      );
      return { ...page, items: await toDocuments(context, page.items) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions',
    operationId: 'createSession',
    access: createSession.access,
    tag,
    summary: 'Create a session.',
    description:
      'For agent runners. The new session belongs to the caller, is `queued`, and has no events. Without `project`, `projectId` is free text. Needs the scope `sessions.record`. In the answer `description`, `diffSummary`, `externalId`, `externalUrl`, `project`, `projectId` and `sourcePullRequest` are null unless the key also has `sessions.read` or `sessions.write`.',
    input: createSessionInput,
    output: sessionDocument,
    status: 201,
    errors: [400],
    examples: {
      input: {
        title: 'Fix the flaky checkout test',
        agent: 'coder',
        baseBranch: 'main',
        source: { name: 'Issue 12', type: 'issue' },
      },
      output: sessionExample,
    },
    run: async (context, input) => toDocument(context, await createSession(context, input)),
  }),
  route({
    method: 'GET',
    path: '/v1/sessions/:sessionId',
    operationId: 'readSession',
    access: readSession.access,
    tag,
    summary: 'Read a session.',
    description:
      'The answer contains the project, the artifacts and their pull requests. Needs the scope `sessions.read`.',
    input: sessionReference,
    output: sessionDocument,
    status: 200,
    errors: [400, 404],
    examples: { output: sessionExample },
    run: async (context, input) => toDocument(context, await readSession(context, input)),
  }),
  route({
    method: 'PATCH',
    path: '/v1/sessions/:sessionId',
    operationId: 'updateSession',
    access: updateSession.access,
    optionalBody: true,
    tag,
    summary: 'Update the configuration of a session.',
    description:
      'A missing field does not change; `null` clears a nullable field. An empty body changes nothing. `mcpServers` accepts ids and names; the answer contains ids. Only the creator of the session and administrators can change it. Needs the scope `sessions.write`.',
    input: updateSessionInput,
    output: sessionDocument,
    status: 200,
    errors: [400, 403, 404, 409, 500],
    examples: {
      input: { title: 'Fix the flaky checkout test', mode: 'planning', sandboxSize: 'large', visibility: 'public' },
      output: sessionExample,
    },
    run: async (context, input) => toDocument(context, await updateSession(context, input)),
  }),
];
