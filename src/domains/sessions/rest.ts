import { route } from '../../core/http/route.ts';
import { listDocument, readDetailedList } from '../../core/input/lists.ts';
import type { OperationContext } from '../../core/operation.ts';
import { DOCUMENT_COLUMNS, listPullRequests, readSession, readSessionDetails } from './document-operations.ts';
import { ensureSession } from './ensure-operation.ts';
import { listSessionsInput, sessionFilterOf } from './input.ts';
import { listSessions, updateSession } from './operations.ts';
import type { SessionRow } from './queries.ts';
import { createSession, recordArtifact, recordPullRequest, transitionSession } from './recording-operations.ts';
import { deleteSession, holdSession, releaseSession } from './retention-operations.ts';
import { readSessionUsage } from './usage.ts';
import {
  artifactExample,
  holdExample,
  pullRequestExample,
  recordedPullRequestExample,
  sessionExample,
  usageExample,
} from './rest-examples.ts';
import {
  artifactDocument,
  holdDocument,
  pullRequestDocument,
  sessionDocument,
  toArtifactDocument,
  toHoldDocument,
  toPullRequestDocument,
  toSessionDocument,
  usageDocument,
} from './rest-documents.ts';

async function toDocuments(sessions: readonly SessionRow[], context: OperationContext) {
  const details = await readSessionDetails(context, sessions);
  return details.map((each) => toSessionDocument(each, context.settings.publicUrl));
}

async function toDocument(session: SessionRow, context: OperationContext) {
  const [document] = await toDocuments([session], context);
  if (!document) throw new Error('a session without its document');
  return document;
}

const ORDERS = { createdAt: 'CREATED_AT', updatedAt: 'UPDATED_AT', lastSeenAt: 'LAST_SEEN_AT' } as const;

const tag = 'Sessions';

/** Documents of sessions that an operation has found instead of creating them, which have another status. */
const FOUND = new WeakSet<object>();

export const sessionRoutes = [
  route(listSessions, {
    method: 'GET',
    path: '/v1/sessions',
    tag,
    input: listSessionsInput,
    output: listDocument(sessionDocument),
    status: 200,
    examples: { output: { items: [sessionExample], nextCursor: null } },
    run: async (context, { limit, cursor, orderBy, sortOrder, ...conditions }) => {
      const order = { field: ORDERS[orderBy], direction: sortOrder };
      const filter = sessionFilterOf(conditions);
      return readDetailedList(
        { limit, cursor },
        context.budget,
        (page) => listSessions(context, { filter, order, page }, DOCUMENT_COLUMNS),
        (rows) => toDocuments(rows, context),
      );
    },
  }),
  route(createSession, {
    method: 'POST',
    path: '/v1/sessions',
    tag,
    description:
      'Without `project`, `projectId` is free text. In the answer `description`, `diffSummary`, `externalId`, `externalUrl`, `project`, `projectId` and `sourcePullRequest` are null unless the key also has `sessions.read` or `sessions.write`.',
    output: sessionDocument,
    status: 201,
    examples: {
      input: {
        title: 'Fix the flaky checkout test',
        agent: 'coder',
        baseBranch: 'main',
        source: { name: 'Issue 12', type: 'issue' },
      },
      output: sessionExample,
    },
    toDocument,
  }),
  route(ensureSession, {
    method: 'PUT',
    path: '/v1/sessions/by-source/:agent/:sourceId',
    tag,
    optionalBody: true,
    output: sessionDocument,
    status: 201,
    examples: {
      input: { title: 'Fix the flaky checkout test', startedAt: '2026-03-01T10:20:30.500Z', project: 'shop' },
      output: sessionExample,
    },
    isUnchanged: { description: 'The session exists already.', when: (document) => FOUND.has(document) },
    toDocument: async ({ session, isNew }, context) => {
      const document = await toDocument(session, context);
      if (!isNew) FOUND.add(document);
      return document;
    },
  }),
  route(readSession, {
    method: 'GET',
    path: '/v1/sessions/:sessionId',
    tag,
    output: sessionDocument,
    status: 200,
    examples: { output: sessionExample },
    toDocument,
  }),
  route(listPullRequests, {
    method: 'GET',
    path: '/v1/sessions/:sessionId/pull-requests',
    tag,
    output: listDocument(pullRequestDocument),
    status: 200,
    examples: { output: { items: [pullRequestExample], nextCursor: null } },
    toDocument: ({ items, nextCursor }) => ({ items: items.map(toPullRequestDocument), nextCursor }),
  }),
  route(readSessionUsage, {
    method: 'GET',
    path: '/v1/sessions/:sessionId/usage',
    tag,
    output: usageDocument,
    status: 200,
    examples: { output: usageExample },
    toDocument: (usage) => usage,
  }),
  route(updateSession, {
    method: 'PATCH',
    path: '/v1/sessions/:sessionId',
    tag,
    optionalBody: true,
    output: sessionDocument,
    status: 200,
    examples: {
      input: { title: 'Fix the flaky checkout test', mode: 'planning', sandboxSize: 'large', visibility: 'public' },
      output: sessionExample,
    },
    toDocument,
  }),
  route(transitionSession, {
    method: 'POST',
    path: '/v1/sessions/:sessionId/transition',
    tag,
    output: sessionDocument,
    status: 200,
    examples: { input: { state: 'inProgress' }, output: sessionExample },
    toDocument,
  }),
  route(deleteSession, { method: 'DELETE', path: '/v1/sessions/:sessionId', tag, status: 204 }),
  route(holdSession, {
    method: 'PUT',
    path: '/v1/sessions/:sessionId/hold',
    tag,
    output: holdDocument,
    status: 200,
    examples: { input: { reason: 'Evidence in an investigation' }, output: holdExample },
    toDocument: toHoldDocument,
  }),
  route(releaseSession, { method: 'DELETE', path: '/v1/sessions/:sessionId/hold', tag, status: 204 }),
  route(recordArtifact, {
    method: 'POST',
    path: '/v1/sessions/:sessionId/artifacts',
    tag,
    output: artifactDocument,
    status: 201,
    examples: { input: { type: 'PullRequest' }, output: { ...artifactExample, pullRequests: [] } },
    toDocument: (artifact) => toArtifactDocument({ ...artifact, pullRequests: [] }),
  }),
  route(recordPullRequest, {
    method: 'POST',
    path: '/v1/artifacts/:artifactId/pull-requests',
    tag,
    output: pullRequestDocument,
    status: 201,
    examples: { input: recordedPullRequestExample, output: pullRequestExample },
    toDocument: ({ pullRequest }) => toPullRequestDocument(pullRequest),
  }),
];
