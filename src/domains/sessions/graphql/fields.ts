import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT } from '../../../core/graphql/builder.ts';
import { listBelow } from '../../../core/graphql/lists.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { type FieldsOf } from '../../../core/graphql/nodes.ts';
import { resolveReference, resolveReferences } from '../../../core/graphql/references.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { McpServerType } from '../../mcp-connections/graphql/types.ts';
import { READ_MCP_CONNECTIONS, readMcpConnections } from '../../mcp-connections/public.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/public.ts';
import { countsOfArtifacts, pagesOfArtifacts } from '../artifact-queries.ts';
import { htmlUrlOf, stateFlags } from '../computed-fields.ts';
import { projectsOf } from '../project-queries.ts';
import { READ_SESSION_CONTENT, RECORD_SESSIONS, WRITE_SESSIONS, mayChange } from '../policy.ts';
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
import { AgentOptionsType, DiffSummaryType, SessionStateType, SessionUsageType } from './value-types.ts';

/** The fields of a session, in groups. */

const CONTENT = refusable(READ_SESSION_CONTENT);

type Fields = FieldsOf<SessionRow>;

/** Fields about the task of the agent and its results. */
export function taskFields(t: Fields) {
  return {
    title: t.exposeString('title', { description: SESSION_TEXTS.title }),
    description: t.string({
      nullable: true,
      description: SESSION_TEXTS.description,
      args: excerptArguments,
      extensions: { ...CONTENT, ...needs<SessionRow>('description') },
      resolve: ({ description }, args) => description && excerptOf(description, args),
    }),
    richContent: t.expose('richContent', {
      type: 'JSON',
      nullable: true,
      description: SESSION_TEXTS.richContent,
      extensions: CONTENT,
    }),
    kind: t.exposeString('kind', { description: SESSION_TEXTS.kind }),
    artifactType: t.expose('artifactType', {
      type: ArtifactTypeEnum,
      nullable: true,
      description: SESSION_TEXTS.artifactType,
    }),
    artifacts: listBelow(t, ARTIFACT_LIST, {
      description: SESSION_TEXTS.artifacts,
      extensions: CONTENT,
      pages: (context, asked, columns) => pagesOfArtifacts(context, { ...asked, columns }),
      counts: countsOfArtifacts,
    }),
  };
}

/** Fields about the configuration of the agent. */
export function configurationFields(t: Fields) {
  return {
    sessionType: t.expose('sessionType', {
      type: SessionTypeEnum,
      description: SESSION_TEXTS.sessionType,
    }),
    mode: t.expose('mode', { type: SessionModeEnum, description: SESSION_TEXTS.mode }),
    visibility: t.expose('visibility', { type: SessionVisibilityEnum, description: SESSION_TEXTS.visibility }),
    level: t.exposeInt('level', { description: SESSION_TEXTS.level }),
    agent: t.exposeString('agent', {
      nullable: true,
      description: SESSION_TEXTS.agent,
    }),
    agentId: t.expose('agentId', {
      type: 'UUID',
      nullable: true,
      description: SESSION_TEXTS.agentId,
    }),
    agentOptions: t.expose('agentOptions', {
      type: AgentOptionsType,
      nullable: true,
      description: SESSION_TEXTS.agentOptions,
      extensions: CONTENT,
    }),
    sandboxSize: t.expose('sandboxSize', {
      type: SandboxSizeEnum,
      nullable: true,
      description: SESSION_TEXTS.sandboxSize,
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
    baseBranch: t.exposeString('baseBranch', {
      nullable: true,
      description: SESSION_TEXTS.baseBranch,
    }),
    branchName: t.exposeString('branchName', {
      nullable: true,
      description: SESSION_TEXTS.branchName,
    }),
    targetBranch: t.exposeString('targetBranch', {
      nullable: true,
      description: SESSION_TEXTS.targetBranch,
    }),
    diffSummary: t.expose('diffSummary', {
      type: DiffSummaryType,
      nullable: true,
      description: SESSION_TEXTS.diffSummary,
      extensions: CONTENT,
    }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: SESSION_TEXTS.sessionSource,
      extensions: needs<SessionRow>('id', 'source'),
      resolve: sourceOf,
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
    projectId: t.exposeString('projectId', {
      nullable: true,
      description: SESSION_TEXTS.projectId,
      extensions: CONTENT,
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
    externalId: t.exposeString('externalId', {
      nullable: true,
      description: SESSION_TEXTS.externalId,
      extensions: CONTENT,
    }),
    externalUrl: t.expose('externalUrl', {
      type: 'URL',
      nullable: true,
      description: SESSION_TEXTS.externalUrl,
      extensions: CONTENT,
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
    isPinned: t.exposeBoolean('isPinned', { description: SESSION_TEXTS.isPinned }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: SESSION_TEXTS.createdAt }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: SESSION_TEXTS.updatedAt,
    }),
    lastQueuedAt: t.expose('lastQueuedAt', {
      type: 'DateTime',
      nullable: true,
      description: SESSION_TEXTS.lastQueuedAt,
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: SESSION_TEXTS.lastSeenAt,
    }),
  };
}

/** Fields about the creator and the rights of the caller. */
export function peopleFields(t: Fields) {
  return {
    creator: t.field({
      type: UserType,
      nullable: true,
      description:
        'The user who created the session. Null when that user deleted their account or left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<SessionRow>('creatorId') },
      resolve: ({ creatorId }, _, context, info) => resolveReference({ context, info }, 'User', creatorId, readUsers),
    }),
    viewerCanUpdate: t.boolean({
      description:
        'Whether the caller can change the session with `updateSession` and `pinSession`: true for the creator and administrators, with the scope `sessions.write`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, WRITE_SESSIONS),
    }),
    viewerCanRecord: t.boolean({
      description:
        'Whether the caller can record events, artifacts and states of the session: true for the creator and administrators, with the scope `sessions.record`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, RECORD_SESSIONS),
    }),
  };
}
