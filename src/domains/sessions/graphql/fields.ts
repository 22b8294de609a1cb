import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { type FieldsOf } from '../../../core/graphql/nodes.ts';
import { resolveReference, resolveReferences } from '../../../core/graphql/references.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { McpServerType } from '../../mcp-connections/graphql/types.ts';
import { readMcpConnections } from '../../mcp-connections/operations.ts';
import { READ_MCP_CONNECTIONS } from '../../mcp-connections/policy.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/operations.ts';
import type { ArtifactRow, PullRequestRow } from '../artifact-queries.ts';
import { htmlUrlOf, stateFlags } from '../derived.ts';
import { artifactsOf, artifactsWithPullRequestsOf, projectsOf } from '../operations.ts';
import { READ_SESSION_CONTENT, RECORD_SESSIONS, WRITE_SESSIONS, mayChange } from '../policy.ts';
import type { SessionRow } from '../queries.ts';
import { ArtifactType } from './artifact-types.ts';
import { ArtifactTypeEnum, SandboxSizeEnum, SessionModeEnum, SessionTypeEnum, SessionVisibilityEnum } from './enums.ts';
import {
  ProjectType,
  SessionSourceType,
  SourcePullRequestType,
  sourceOf,
  sourcePullRequestOf,
} from './source-types.ts';
import { AgentOptionsType, DiffSummaryType, SessionStateType } from './value-types.ts';

/** The fields of a session, in groups. */

const NONE: readonly never[] = [];
const CONTENT = refusable(READ_SESSION_CONTENT);

type Fields = FieldsOf<SessionRow>;

/** Fields about the task of the agent and its results. */
export function taskFields(t: Fields) {
  return {
    title: t.exposeString('title', { description: 'Title of the session, 1 to 1000 characters.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'The task as plain text of at most 1,000,000 characters. Null when there is none.',
      extensions: CONTENT,
    }),
    richContent: t.expose('richContent', {
      type: 'JSON',
      nullable: true,
      description: 'The task as a rich-text document. Null when there is none, or only a plain-text `description`.',
      extensions: CONTENT,
    }),
    kind: t.exposeString('kind', { description: 'The kind of session, as free text of 1 to 100 characters.' }),
    artifactType: t.expose('artifactType', {
      type: ArtifactTypeEnum,
      nullable: true,
      description: 'The type of result that the agent is asked for. Null when none was given.',
    }),
    artifacts: t.field({
      type: [ArtifactType],
      description: 'The results of the session, at most 1,000, in the order of recording.',
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('id') },
      resolve: ({ id }, _, context, info) => {
        const asked = selectedColumns<ArtifactRow>(info, 'Artifact');
        const askedOfPullRequests = selectedColumns<PullRequestRow>(info, 'PullRequest', 'pullRequests');
        if (!askedOfPullRequests?.length)
          return resolveBatched({ context, info }, id, artifactsOf(context, asked), asked, NONE);
        const load = artifactsWithPullRequestsOf(context, { asked, askedOfPullRequests });
        return resolveBatched({ context, info }, id, load, [...(asked ?? ['*']), '', ...askedOfPullRequests], NONE);
      },
    }),
  };
}

/** Fields about the configuration of the agent. */
export function configurationFields(t: Fields) {
  return {
    sessionType: t.expose('sessionType', {
      type: SessionTypeEnum,
      description: 'Interface for working with the agent.',
    }),
    mode: t.expose('mode', { type: SessionModeEnum, description: 'How the agent works.' }),
    visibility: t.expose('visibility', { type: SessionVisibilityEnum, description: 'Who can read the session.' }),
    level: t.exposeInt('level', { description: '0 to 100.' }),
    agent: t.exposeString('agent', {
      nullable: true,
      description: 'Name of the agent. Null when none was given.',
    }),
    agentId: t.expose('agentId', {
      type: 'UUID',
      nullable: true,
      description: 'Id of the agent. Null when none was given.',
    }),
    agentOptions: t.expose('agentOptions', {
      type: AgentOptionsType,
      nullable: true,
      description: 'Options of the agent. Null when none were given.',
      extensions: CONTENT,
    }),
    sandboxSize: t.expose('sandboxSize', {
      type: SandboxSizeEnum,
      nullable: true,
      description: 'Size of the machine that the session runs on. Null when none was given.',
    }),
    mcpServers: t.field({
      type: [McpServerType],
      description:
        "The MCP connections that the agent can use, at most 100. Deleted connections and other users' personal connections are left out.",
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
      description: 'The branch that the session starts from. Null when none was given.',
    }),
    branchName: t.exposeString('branchName', {
      nullable: true,
      description: 'The branch that the session works on. Null when none was given.',
    }),
    targetBranch: t.exposeString('targetBranch', {
      nullable: true,
      description: 'The branch to merge the changes into. Null when none was given.',
    }),
    diffSummary: t.expose('diffSummary', {
      type: DiffSummaryType,
      nullable: true,
      description: 'How many lines the session changed. Null while that is unknown.',
      extensions: CONTENT,
    }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: 'Where the session was started from.',
      extensions: needs<SessionRow>('id', 'source'),
      resolve: sourceOf,
    }),
    sourcePullRequest: t.field({
      type: SourcePullRequestType,
      nullable: true,
      description: 'The pull request that the session was started from. Null when there is none.',
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
      description: 'Id of the project, or other free text. Null when none was given.',
      extensions: CONTENT,
    }),
    project: t.field({
      type: ProjectType,
      nullable: true,
      description: 'The project with the id `projectId`. Null when there is none.',
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('projectId') },
      resolve: ({ projectId }, _, context, info) => {
        const [id] = projectId === null ? [] : uuidsOf([projectId]);
        return id === undefined ? null : resolveBatched({ context, info }, id, projectsOf(context));
      },
    }),
    externalId: t.exposeString('externalId', {
      nullable: true,
      description: 'Id of the session in another system. Null when there is none.',
      extensions: CONTENT,
    }),
    externalUrl: t.expose('externalUrl', {
      type: 'URL',
      nullable: true,
      description: 'URL of the session in another system. Null when there is none.',
      extensions: CONTENT,
    }),
    htmlUrl: t.field({
      type: 'URL',
      description: 'URL of the session in the console: `PUBLIC_URL/sessions/<databaseId>`.',
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
      description: 'The state of the session.',
      extensions: needs<SessionRow>('state'),
      resolve: ({ state }) => stateFlags(state),
    }),
    isPinned: t.exposeBoolean('isPinned', { description: 'Whether the session is pinned to the top of lists.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the session was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the configuration or state last changed. `expectedUpdatedAt` is compared with it.',
    }),
    lastQueuedAt: t.expose('lastQueuedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the session was last queued. Null when it was never queued.',
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'When the runner last recorded something for the session, to the minute.',
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
