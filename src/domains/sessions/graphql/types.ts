import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { type FieldsOf, entityType } from '../../../core/graphql/nodes.ts';
import { referenceTo, resolveReference, resolveReferences } from '../../../core/graphql/references.ts';
import { keysOf } from '../../../core/keys-of.ts';
import { readSessions } from '../operations.ts';
import {
  HOLD_SESSIONS,
  READ_SESSIONS,
  READ_SESSION_CONTENT,
  RECORD_SESSIONS,
  WRITE_SESSIONS,
  mayChange,
} from '../policy.ts';
import { type SessionRow, projectsOf } from '../queries.ts';
import { ARTIFACT_LIST, ArtifactType } from './artifact-types.ts';
import { textOf } from '../../../core/documents.ts';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { listBelow } from '../../../core/graphql/lists.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { McpServerType } from '../../mcp-connections/graphql/types.ts';
import { READ_MCP_CONNECTIONS, readMcpConnections } from '../../mcp-connections/public.ts';
import { actorField } from '../../organizations/graphql/actors.ts';
import { ARTIFACTS } from '../artifact-queries.ts';
import { ARTIFACTS_TEXT, htmlUrlOf, sessionDocument, stateFlags } from '../documents.ts';
import './enums.ts';
import {
  ProjectType,
  SessionSourceType,
  SourcePullRequestType,
  sourceOf,
  sourcePullRequestOf,
} from './source-types.ts';
import { usageOf } from '../usage.ts';
import {
  AgentOptionsType,
  DiffSummaryType,
  SessionHandledType,
  SessionHoldType,
  SessionStateType,
  SessionUsageType,
  TranscriptSourceType,
} from './value-types.ts';

/** The fields of a session, in groups. */

const CONTENT = refusable(READ_SESSION_CONTENT);

type Fields = FieldsOf<SessionRow>;

/** The columns that both APIs answer alike: all fields of the document but those that are defined below. */
const columnsDocument = sessionDocument.omit({
  id: true,
  description: true,
  artifacts: true,
  mcpServers: true,
  diffSummary: true,
  sessionSource: true,
  sourcePullRequest: true,
  project: true,
  projectId: true,
  externalId: true,
  externalUrl: true,
  htmlUrl: true,
  state: true,
});

/** Fields about the task of the agent and its results. */
function taskFields(t: Fields) {
  return {
    ...exposed(t, {
      richContent: [
        nullable('JSON', CONTENT),
        'The task as a rich-text document. Null when there is none, or only a plain-text `description`.',
      ],
    }),
    description: t.string({
      nullable: true,
      description: sessionDocument.shape.description.description,
      args: excerptArguments,
      extensions: { ...CONTENT, ...needs<SessionRow>('description') },
      resolve: ({ description }, args) => description && excerptOf(description, args),
    }),
    artifacts: listBelow(t, ARTIFACT_LIST, {
      description: ARTIFACTS_TEXT,
      extensions: CONTENT,
      rows: ARTIFACTS,
    }),
  };
}

/** Fields about the configuration of the agent. */
function configurationFields(t: Fields) {
  return {
    ...exposed(t, {
      agentOptions: [nullable(AgentOptionsType, CONTENT), 'Options of the agent. Null when none were given.'],
    }),
    mcpServers: t.field({
      type: [McpServerType],
      description: sessionDocument.shape.mcpServers.description,
      extensions: { ...OWN_STATEMENT, ...refusable(READ_MCP_CONNECTIONS), ...needs<SessionRow>('mcpServers') },
      resolve: ({ mcpServers }, _, context, info) =>
        resolveReferences({ context, info }, 'McpServer', mcpServers, readMcpConnections),
    }),
  };
}

/** Fields about the code that the session works on. */
function codeFields(t: Fields) {
  return {
    ...exposed(t, { diffSummary: [nullable(DiffSummaryType, CONTENT), textOf(sessionDocument.shape.diffSummary)] }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: sessionDocument.shape.sessionSource.description,
      extensions: needs<SessionRow>('id', 'source'),
      resolve: sourceOf,
    }),
    source: t.field({
      type: TranscriptSourceType,
      nullable: true,
      description: 'The transcript of an agent that the session was ensured for. Null for other sessions.',
      extensions: needs<SessionRow>('source'),
      resolve: ({ source: { transcript } }) => transcript ?? null,
    }),
    sourcePullRequest: t.field({
      type: SourcePullRequestType,
      nullable: true,
      description: sessionDocument.shape.sourcePullRequest.description,
      extensions: { ...CONTENT, ...needs<SessionRow>('id', 'sourcePullRequest') },
      resolve: sourcePullRequestOf,
    }),
  };
}

/** Fields that link the session to its project, its console page, and other systems. */
function linkFields(t: Fields) {
  return {
    ...shown(t, sessionDocument, ['projectId', 'externalId', 'externalUrl'], {
      types: { externalUrl: 'URL' },
      extensions: CONTENT,
    }),
    project: t.field({
      type: ProjectType,
      nullable: true,
      description: sessionDocument.shape.project.description,
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('projectId') },
      resolve: ({ projectId }, _, context, info) => {
        const [id] = projectId === null ? [] : uuidsOf([projectId]);
        return id === undefined ? null : resolveBatched({ context, info }, id, projectsOf(context));
      },
    }),
    htmlUrl: t.field({
      type: 'URL',
      description: sessionDocument.shape.htmlUrl.description,
      extensions: needs<SessionRow>('id'),
      resolve: ({ id }, _, { settings }) => htmlUrlOf(id, settings.publicUrl),
    }),
  };
}

/** Fields about the state and its times. */
function stateFields(t: Fields) {
  return {
    state: t.field({
      type: SessionStateType,
      description: sessionDocument.shape.state.description,
      extensions: needs<SessionRow>('state'),
      resolve: ({ state }) => stateFlags(state),
    }),
    usage: t.field({
      type: SessionUsageType,
      nullable: true,
      description:
        'Tokens, costs and calls, as the events of the session have reported them. Null when the session was deleted in the meantime.',
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('id') },
      resolve: async ({ id }, _, context, info) =>
        (await resolveBatched({ context, info }, id, usageOf(context))) ?? null,
    }),
    hold: t.field({
      type: SessionHoldType,
      nullable: true,
      description:
        'Keeps the session: while it is held, it cannot be deleted or redacted, and retention skips it. Null without one.',
      extensions: { ...CONTENT, ...needs<SessionRow>('holdReason', 'heldById', 'heldAt', 'holdCreatorLabel') },
      resolve: ({ holdReason, heldById, heldAt, holdCreatorLabel }) =>
        heldAt === null ? null : { reason: holdReason ?? '', heldById, heldAt, holdCreatorLabel },
    }),
    handled: t.field({
      type: SessionHandledType,
      nullable: true,
      description: 'Who has marked the failed session as handled, and when. Null when nobody has.',
      extensions: { ...CONTENT, ...needs<SessionRow>('handledById', 'handledAt') },
      resolve: ({ handledById: by, handledAt }) => (handledAt === null ? null : { by, at: handledAt }),
    }),
    ...exposed(t, {
      redactedAt: [
        nullable('DateTime'),
        'When texts of the session were last redacted: what was read of it before can have texts that are gone now. Null when none were.',
      ],
    }),
  };
}

/** Fields about the creator and the rights of the caller. */
function peopleFields(t: Fields) {
  return {
    creator: actorField(
      t,
      'creatorId',
      'Who created the session: a person or a service account. Null when that person deleted their account or left the organization, and when the service account was deleted.',
    ),
    viewerCanUpdate: t.boolean({
      description:
        'Whether the caller can change the session with `updateSession` and `pinSession`: true for the creator and administrators, with the scope `sessions.write`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, WRITE_SESSIONS),
    }),
    viewerCanDelete: t.boolean({
      description:
        'Whether the caller can delete and redact the session: true for the creator and administrators, with the scope `sessions.write`, unless it is held.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility', 'heldAt'),
      resolve: (session, _, { actor }) => session.heldAt === null && mayChange(actor, session, WRITE_SESSIONS),
    }),
    viewerCanHold: t.boolean({
      description:
        'Whether the caller can hold and release the session: true for administrators with the scope `sessions.write`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, HOLD_SESSIONS),
    }),
    viewerCanRecord: t.boolean({
      description:
        'Whether the caller can record events, artifacts and states of the session: true for the creator and administrators, with the scope `sessions.record`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, RECORD_SESSIONS),
    }),
  };
}

export const SessionType = entityType<SessionRow>('Session', {
  stored: { table: 'session' },
  description:
    'One run of a coding agent. All members of the organization can read a public session; only its creator and administrators can read a private one.',
  read: readSessions,
  fields: (t) => ({
    ...shown(t, columnsDocument, keysOf(columnsDocument.shape)),
    ...taskFields(t),
    ...configurationFields(t),
    ...codeFields(t),
    ...linkFields(t),
    ...stateFields(t),
    ...peopleFields(t),
  }),
});

export const sessionField = referenceTo(SessionType, readSessions);

builder.objectField(SessionType, 'continuedFrom', (t) =>
  t.field({
    type: SessionType,
    nullable: true,
    description:
      'The session of somebody else that the agent has gone on with, after `record.mjs pull`. Null for other sessions, and when it was deleted or cannot be read.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<SessionRow>('source') },
    resolve: ({ source: { transcript } }, _, context, info) =>
      resolveReference({ context, info }, 'Session', transcript?.continuedFrom ?? null, readSessions),
  }),
);

builder.objectField(ArtifactType, 'session', (t) =>
  sessionField(t, 'sessionId', 'The session of the artifact. Null when it was deleted in the meantime.', READ_SESSIONS),
);
