import { exposedWith, nullable } from '../../../core/graphql/fields.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT } from '../../../core/graphql/builder.ts';
import { listBelow } from '../../../core/graphql/lists.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { type FieldsOf } from '../../../core/graphql/nodes.ts';
import { resolveReferences } from '../../../core/graphql/references.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { McpServerType } from '../../mcp-connections/graphql/types.ts';
import { READ_MCP_CONNECTIONS, readMcpConnections } from '../../mcp-connections/public.ts';
import { actorField } from '../../organizations/graphql/actors.ts';
import { ARTIFACTS } from '../artifact-queries.ts';
import { htmlUrlOf, stateFlags } from '../computed-fields.ts';
import { projectsOf } from '../project-queries.ts';
import { HOLD_SESSIONS, READ_SESSION_CONTENT, RECORD_SESSIONS, WRITE_SESSIONS, mayChange } from '../policy.ts';
import type { SessionRow } from '../queries.ts';
import { SESSION_TEXTS } from '../texts.ts';
import { ARTIFACT_LIST } from './artifact-types.ts';
import { ArtifactTypeEnum, SandboxSizeEnum, SessionModeEnum, SessionTypeEnum, SessionVisibilityEnum } from './enums.ts';
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
  SessionHoldType,
  SessionStateType,
  SessionUsageType,
  TranscriptSourceType,
} from './value-types.ts';

/** The fields of a session, in groups. */

const CONTENT = refusable(READ_SESSION_CONTENT);

type Fields = FieldsOf<SessionRow>;

/** Fields about the task of the agent and its results. */
export function taskFields(t: Fields) {
  return {
    ...exposedWith(t, SESSION_TEXTS, {
      title: 'String',
      richContent: nullable('JSON', CONTENT),
      kind: 'String',
      artifactType: nullable(ArtifactTypeEnum),
    }),
    description: t.string({
      nullable: true,
      description: SESSION_TEXTS.description,
      args: excerptArguments,
      extensions: { ...CONTENT, ...needs<SessionRow>('description') },
      resolve: ({ description }, args) => description && excerptOf(description, args),
    }),
    artifacts: listBelow(t, ARTIFACT_LIST, {
      description: SESSION_TEXTS.artifacts,
      extensions: CONTENT,
      rows: ARTIFACTS,
    }),
  };
}

/** Fields about the configuration of the agent. */
export function configurationFields(t: Fields) {
  return {
    ...exposedWith(t, SESSION_TEXTS, {
      sessionType: SessionTypeEnum,
      mode: SessionModeEnum,
      visibility: SessionVisibilityEnum,
      level: 'Int',
      agent: nullable('String'),
      agentId: nullable('UUID'),
      agentOptions: nullable(AgentOptionsType, CONTENT),
      sandboxSize: nullable(SandboxSizeEnum),
    }),
    mcpServers: t.field({
      type: [McpServerType],
      description: SESSION_TEXTS.mcpServers,
      extensions: { ...OWN_STATEMENT, ...refusable(READ_MCP_CONNECTIONS), ...needs<SessionRow>('mcpServers') },
      resolve: ({ mcpServers }, _, context, info) =>
        resolveReferences({ context, info }, 'McpServer', mcpServers, readMcpConnections),
    }),
  };
}

/** Fields about the code that the session works on. */
export function codeFields(t: Fields) {
  return {
    ...exposedWith(t, SESSION_TEXTS, {
      baseBranch: nullable('String'),
      branchName: nullable('String'),
      targetBranch: nullable('String'),
      diffSummary: nullable(DiffSummaryType, CONTENT),
    }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: SESSION_TEXTS.sessionSource,
      extensions: needs<SessionRow>('id', 'source'),
      resolve: sourceOf,
    }),
    source: t.field({
      type: TranscriptSourceType,
      nullable: true,
      description: SESSION_TEXTS.source,
      extensions: needs<SessionRow>('source'),
      resolve: ({ source: { transcript } }) => transcript ?? null,
    }),
    sourcePullRequest: t.field({
      type: SourcePullRequestType,
      nullable: true,
      description: SESSION_TEXTS.sourcePullRequest,
      extensions: { ...CONTENT, ...needs<SessionRow>('id', 'sourcePullRequest') },
      resolve: sourcePullRequestOf,
    }),
  };
}

/** Fields that link the session to its project, its console page, and other systems. */
export function linkFields(t: Fields) {
  return {
    ...exposedWith(t, SESSION_TEXTS, {
      projectId: nullable('String', CONTENT),
      externalId: nullable('String', CONTENT),
      externalUrl: nullable('URL', CONTENT),
    }),
    project: t.field({
      type: ProjectType,
      nullable: true,
      description: SESSION_TEXTS.project,
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('projectId') },
      resolve: ({ projectId }, _, context, info) => {
        const [id] = projectId === null ? [] : uuidsOf([projectId]);
        return id === undefined ? null : resolveBatched({ context, info }, id, projectsOf(context));
      },
    }),
    htmlUrl: t.field({
      type: 'URL',
      description: SESSION_TEXTS.htmlUrl,
      extensions: needs<SessionRow>('id'),
      resolve: ({ id }, _, { settings }) => htmlUrlOf(id, settings.publicUrl),
    }),
  };
}

/** Fields about the state and its times. */
export function stateFields(t: Fields) {
  return {
    state: t.field({
      type: SessionStateType,
      description: SESSION_TEXTS.state,
      extensions: needs<SessionRow>('state'),
      resolve: ({ state }) => stateFlags(state),
    }),
    usage: t.field({
      type: SessionUsageType,
      nullable: true,
      description: `${SESSION_TEXTS.usage} Null when the session was deleted in the meantime.`,
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('id') },
      resolve: async ({ id }, _, context, info) =>
        (await resolveBatched({ context, info }, id, usageOf(context))) ?? null,
    }),
    hold: t.field({
      type: SessionHoldType,
      nullable: true,
      description: SESSION_TEXTS.hold,
      extensions: { ...CONTENT, ...needs<SessionRow>('holdReason', 'heldById', 'heldAt') },
      resolve: ({ holdReason, heldById, heldAt }) =>
        heldAt === null ? null : { reason: holdReason ?? '', heldById, heldAt },
    }),
    ...exposedWith(t, SESSION_TEXTS, {
      isPinned: 'Boolean',
      redactedAt: nullable('DateTime'),
      createdAt: 'DateTime',
      updatedAt: 'DateTime',
      lastQueuedAt: nullable('DateTime'),
      lastSeenAt: 'DateTime',
    }),
  };
}

/** Fields about the creator and the rights of the caller. */
export function peopleFields(t: Fields) {
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
