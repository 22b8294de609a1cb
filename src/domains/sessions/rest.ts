import { exampleOf } from '../../core/documents.ts';
import { routesOf } from '../../core/http/route.ts';
import { listDocument, readDetailedList } from '../../core/input/lists.ts';
import type { OperationContext } from '../../core/operation.ts';
import { DOCUMENT_COLUMNS, listPullRequests, readSession, readSessionDetails } from './document-operations.ts';
import { ensureSession } from './ensure-operation.ts';
import { sessionFilterOf, sessionReference } from './input.ts';
import { listSessionsInput } from './list-input.ts';
import { SESSION_ORDERS } from './vocabulary.ts';
import { listSessions, updateSession } from './operations.ts';
import { type SessionRow, withoutTotals } from './queries.ts';
import { createSession, recordArtifact, recordPullRequest, transitionSession } from './recording-operations.ts';
import { deleteSession, holdSession, markSessionHandled, releaseSession } from './deletion-and-hold.ts';
import { transcriptFilesOf } from './transcript-files.ts';
import { readSessionUsage } from './usage.ts';
import {
  artifactDocument,
  ensuredDocument,
  handledDocument,
  holdDocument,
  pullRequestDocument,
  sessionDocument,
  usageDocument,
} from './documents.ts';
import {
  toArtifactDocument,
  toHandledDocument,
  toHoldDocument,
  toPullRequestDocument,
  toSessionDocument,
} from './rest-documents.ts';

const route = routesOf('Sessions');

async function toDocuments(sessions: readonly SessionRow[], context: OperationContext) {
  const details = await readSessionDetails(context, sessions);
  return details.map((each) => toSessionDocument(each, context.settings.publicUrl));
}

async function toDocument(session: SessionRow, context: OperationContext) {
  const [document] = await toDocuments([session], context);
  if (!document) throw new Error('a session without its document');
  return document;
}

const {
  id: _id,
  createdAt: _createdAt,
  updatedAt: _updatedAt,
  ...recordedPullRequest
} = exampleOf(pullRequestDocument);

/** Documents of sessions that an operation has found instead of creating them, which have another status. */
const FOUND = new WeakSet<object>();

export const sessionRoutes = [
  route('GET /v1/sessions', listSessions, {
    input: listSessionsInput,
    output: listDocument(sessionDocument),
    run: async (context, { limit, cursor, orderBy, sortOrder, ...conditions }) => {
      const order = { field: SESSION_ORDERS[orderBy], direction: sortOrder };
      const filter = sessionFilterOf(conditions);
      return readDetailedList(
        { limit, cursor },
        context.budget,
        (page) => listSessions(context, { filter, order, page }, DOCUMENT_COLUMNS),
        (rows) => toDocuments(rows.map(withoutTotals), context),
      );
    },
  }),
  route('POST /v1/sessions', createSession, {
    description:
      'Without `project`, `projectId` is free text. In the answer `description`, `diffSummary`, `externalId`, `externalUrl`, `project`, `projectId` and `sourcePullRequest` are null unless the key also has `sessions.read` or `sessions.write`.',
    output: sessionDocument,
    examples: {
      input: {
        title: 'Fix the flaky checkout test',
        agent: 'coder',
        baseBranch: 'main',
        source: { name: 'Issue 12', type: 'issue' },
      },
    },
    toDocument,
  }),
  route('PUT /v1/sessions/by-source/:agent/:sourceId', ensureSession, {
    output: ensuredDocument,
    status: 201,
    examples: {
      input: { title: 'Fix the flaky checkout test', startedAt: '2026-03-01T10:20:30.500Z', project: 'shop' },
    },
    isUnchanged: { description: 'The session exists already.', when: (document) => FOUND.has(document) },
    toDocument: async ({ session, isNew }, context) => {
      const document = {
        ...(await toDocument(session, context)),
        files: isNew ? [] : await transcriptFilesOf(context, session.id),
      };
      if (!isNew) FOUND.add(document);
      return document;
    },
  }),
  route('GET /v1/sessions/:sessionId', readSession, { output: sessionDocument, toDocument }),
  route('GET /v1/sessions/:sessionId/pull-requests', listPullRequests, {
    output: listDocument(pullRequestDocument),
    toDocument: ({ items, nextCursor }) => ({ items: items.map(toPullRequestDocument), nextCursor }),
  }),
  route('GET /v1/sessions/:sessionId/usage', readSessionUsage, { output: usageDocument, toDocument: (usage) => usage }),
  route('PATCH /v1/sessions/:sessionId', updateSession, {
    output: sessionDocument,
    examples: {
      input: { title: 'Fix the flaky checkout test', mode: 'planning', sandboxSize: 'large', visibility: 'public' },
    },
    toDocument,
  }),
  route('POST /v1/sessions/:sessionId/transition', transitionSession, {
    output: sessionDocument,
    status: 200,
    examples: { input: { state: 'inProgress' } },
    toDocument,
  }),
  route('DELETE /v1/sessions/:sessionId', deleteSession),
  route('PUT /v1/sessions/:sessionId/hold', holdSession, {
    output: holdDocument,
    examples: { input: { reason: 'Evidence in an investigation' } },
    toDocument: toHoldDocument,
  }),
  route('DELETE /v1/sessions/:sessionId/hold', releaseSession),
  route('PUT /v1/sessions/:sessionId/handled', markSessionHandled, {
    input: sessionReference,
    output: handledDocument,
    run: async (context, input) => toHandledDocument(await markSessionHandled(context, { ...input, isHandled: true })),
  }),
  route('DELETE /v1/sessions/:sessionId/handled', markSessionHandled, {
    operationId: 'unmarkSessionHandled',
    summary: 'Takes back that a failed session was marked as handled.',
    input: sessionReference,
    run: async (context, input) => void (await markSessionHandled(context, { ...input, isHandled: false })),
  }),
  route('POST /v1/sessions/:sessionId/artifacts', recordArtifact, {
    output: artifactDocument,
    examples: { input: { type: 'PullRequest' }, output: { ...exampleOf(artifactDocument), pullRequests: [] } },
    toDocument: (artifact) => toArtifactDocument({ ...artifact, pullRequests: [] }),
  }),
  route('POST /v1/artifacts/:artifactId/pull-requests', recordPullRequest, {
    output: pullRequestDocument,
    examples: { input: recordedPullRequest },
    toDocument: ({ pullRequest }) => toPullRequestDocument(pullRequest),
  }),
];
