import { READ_SESSIONS, READ_SESSION_CONTENT, RECORD_SESSIONS, WRITE_SESSIONS, mayChange } from '../policy.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import type { AgentOptions, DiffSummary } from '../entity.ts';
import {
  ArtifactTypeEnum,
  SandboxSizeEnum,
  SessionModeEnum,
  SessionStateEnum,
  SessionTypeEnum,
  SessionVisibilityEnum,
} from './enums.ts';
import type { ArtifactRow } from '../artifact-queries.ts';
import type { SessionRow } from '../queries.ts';
import { type SessionStateFlags, htmlUrlOf, stateFlags } from '../derived.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { artifactsOf, projectsOf, readSessions } from '../operations.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { resolveReference, resolveReferences } from '../../../core/graphql/references.ts';
import { McpServerType } from '../../mcp-connections/graphql/types.ts';
import { readMcpConnections } from '../../mcp-connections/operations.ts';
import { READ_MCP_CONNECTIONS } from '../../mcp-connections/policy.ts';
import { UserType } from '../../users/graphql.ts';
import { readUsers } from '../../users/operations.ts';
import { ArtifactType } from './artifact-types.ts';
import {
  ProjectType,
  SessionSourceType,
  SourcePullRequestType,
  sourceOf,
  sourcePullRequestOf,
} from './source-types.ts';

const NONE: readonly never[] = [];

const SessionStateType = builder.objectRef<SessionStateFlags>('SessionState').implement({
  description: 'Where a session stands, as the contract says it: the booleans follow from `current`.',
  fields: (t) => ({
    current: t.expose('current', { type: SessionStateEnum, description: 'The state.' }),
    isQueued: t.exposeBoolean('isQueued', { description: 'Whether it waits to run.' }),
    inProgress: t.exposeBoolean('inProgress', { description: 'Whether it runs.' }),
    isCompleted: t.exposeBoolean('isCompleted', { description: 'Whether it has ended well.' }),
    isFailed: t.exposeBoolean('isFailed', { description: 'Whether it has ended badly.' }),
    isCancelled: t.exposeBoolean('isCancelled', { description: 'Whether it was stopped.' }),
  }),
});

const DiffSummaryType = builder.objectRef<DiffSummary>('DiffSummary').implement({
  description: 'How much was changed.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: 'Lines added.' }),
    deletions: t.exposeInt('deletions', { description: 'Lines removed.' }),
  }),
});

const AgentGoalType = builder.objectRef<NonNullable<AgentOptions['goal']>>('AgentGoal').implement({
  description: 'What the agent is to reach.',
  fields: (t) => ({
    enabled: t.exposeBoolean('enabled', { nullable: true, description: 'Whether the agent works towards it.' }),
    objective: t.exposeString('objective', { nullable: true, description: 'What it is.' }),
  }),
});

const AgentOptionsType = builder.objectRef<AgentOptions>('AgentOptions').implement({
  description: 'How the agent is set.',
  fields: (t) => ({
    reasoningLevel: t.exposeString('reasoningLevel', { nullable: true, description: 'How much it thinks.' }),
    goal: t.expose('goal', { type: AgentGoalType, nullable: true, description: 'What it is to reach.' }),
  }),
});

const CONTENT = refusable(READ_SESSION_CONTENT);

export const SessionType = nodeType<SessionRow>('Session', {
  description:
    'One run of a coding agent. A public one is read by the whole organization, a private one by its creator and the admins.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readSessions(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    title: t.exposeString('title', { description: '1 to 1000 characters.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'What it is about, as plain text; null when nothing was said.',
      extensions: CONTENT,
    }),
    richContent: t.expose('richContent', {
      type: 'JSON',
      nullable: true,
      description:
        'What it is about, as a rich-text document; null when it was described as plain text, or not at all.',
      extensions: CONTENT,
    }),
    kind: t.exposeString('kind', { description: 'What kind of run it is; free text.' }),
    sessionType: t.expose('sessionType', { type: SessionTypeEnum, description: 'How people meet the agent.' }),
    mode: t.expose('mode', { type: SessionModeEnum, description: 'How the agent works.' }),
    visibility: t.expose('visibility', { type: SessionVisibilityEnum, description: 'Who reads it.' }),
    level: t.exposeInt('level', { description: '0 to 100.' }),
    state: t.field({
      type: SessionStateType,
      description: 'Where it stands.',
      extensions: needs<SessionRow>('state'),
      resolve: ({ state }) => stateFlags(state),
    }),
    agent: t.exposeString('agent', { nullable: true, description: 'The agent that runs.' }),
    agentId: t.expose('agentId', { type: 'UUID', nullable: true, description: 'Id of the agent that runs.' }),
    agentOptions: t.expose('agentOptions', {
      type: AgentOptionsType,
      nullable: true,
      description: 'How the agent is set; null when nothing was said.',
      extensions: CONTENT,
    }),
    artifactType: t.expose('artifactType', {
      type: ArtifactTypeEnum,
      nullable: true,
      description: 'What it is to make.',
    }),
    baseBranch: t.exposeString('baseBranch', { nullable: true, description: 'The branch it starts from.' }),
    branchName: t.exposeString('branchName', { nullable: true, description: 'The branch it works on.' }),
    targetBranch: t.exposeString('targetBranch', { nullable: true, description: 'The branch its change goes to.' }),
    projectId: t.exposeString('projectId', {
      nullable: true,
      description: 'Which project it belongs to; null for none.',
      extensions: CONTENT,
    }),
    project: t.field({
      type: ProjectType,
      nullable: true,
      description: 'The project with that id; null when there is none.',
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('projectId') },
      resolve: ({ projectId }, _, context, info) => {
        const [id] = projectId === null ? [] : uuidsOf([projectId]);
        return id === undefined ? null : resolveBatched({ context, info }, id, projectsOf(context));
      },
    }),
    sandboxSize: t.expose('sandboxSize', {
      type: SandboxSizeEnum,
      nullable: true,
      description: 'How large a machine it runs on.',
    }),
    mcpServers: t.field({
      type: [McpServerType],
      description:
        'The MCP connections that the agent may use, at most 100. Deleted ones, and personal ones of somebody else, are left out.',
      extensions: { ...OWN_STATEMENT, ...refusable(READ_MCP_CONNECTIONS), ...needs<SessionRow>('mcpServers') },
      resolve: ({ mcpServers }, _, context, info) =>
        resolveReferences({ context, info }, 'McpServer', mcpServers, readMcpConnections),
    }),
    externalId: t.exposeString('externalId', {
      nullable: true,
      description: 'Its id in another system; null for none.',
      extensions: CONTENT,
    }),
    externalUrl: t.expose('externalUrl', {
      type: 'URL',
      nullable: true,
      description: 'Its address in another system; null for none.',
      extensions: CONTENT,
    }),
    htmlUrl: t.field({
      type: 'URL',
      description: 'Address of its page in the console: `PUBLIC_URL/sessions/<databaseId>`.',
      extensions: needs<SessionRow>('id'),
      resolve: ({ id }, _, { settings }) => htmlUrlOf(id, settings.publicUrl),
    }),
    viewerCanUpdate: t.boolean({
      description:
        'Whether the caller may change it with `updateSession` and `pinSession`: its creator or an administrator, with the scope `sessions.write`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, WRITE_SESSIONS),
    }),
    viewerCanRecord: t.boolean({
      description:
        'Whether the caller may record its events, artifacts and states: its creator or an administrator, with the scope `sessions.record`.',
      extensions: needs<SessionRow>('organizationId', 'creatorId', 'visibility'),
      resolve: (session, _, { actor }) => mayChange(actor, session, RECORD_SESSIONS),
    }),
    isPinned: t.exposeBoolean('isPinned', { description: 'Whether it is pinned to the top.' }),
    diffSummary: t.expose('diffSummary', {
      type: DiffSummaryType,
      nullable: true,
      description: 'How much it has changed; null while that is not known.',
      extensions: CONTENT,
    }),
    artifacts: t.field({
      type: [ArtifactType],
      description: 'What it has made, at most 1,000, by time of recording.',
      extensions: { ...OWN_STATEMENT, ...CONTENT, ...needs<SessionRow>('id') },
      resolve: ({ id }, _, context, info) => {
        const selected = selectedColumns<ArtifactRow>(info, 'Artifact');
        return resolveBatched({ context, info }, id, artifactsOf(context, selected), selected, NONE);
      },
    }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: 'Where it came from.',
      extensions: needs<SessionRow>('id', 'source'),
      resolve: sourceOf,
    }),
    sourcePullRequest: t.field({
      type: SourcePullRequestType,
      nullable: true,
      description: 'The pull request it began with; null when it began with none.',
      extensions: { ...CONTENT, ...needs<SessionRow>('id', 'sourcePullRequest') },
      resolve: sourcePullRequestOf,
    }),
    creator: t.field({
      type: UserType,
      nullable: true,
      description: 'Who created it. Null for a deleted account, and for somebody who has left the organization.',
      extensions: { ...OWN_STATEMENT, ...needs<SessionRow>('creatorId') },
      resolve: ({ creatorId }, _, context, info) => resolveReference({ context, info }, 'User', creatorId, readUsers),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its configuration or state last changed; what `expectedUpdatedAt` is compared with.',
    }),
    lastQueuedAt: t.expose('lastQueuedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last queued.',
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'When its runner last said something, to the minute.',
    }),
  }),
});

builder.objectField(ArtifactType, 'session', (t) =>
  t.field({
    type: SessionType,
    nullable: true,
    description: 'The session that made it; null when it is gone by now.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<ArtifactRow>('sessionId') },
    resolve: ({ sessionId }, _, context, info) =>
      resolveReference({ context, info }, 'Session', sessionId, readSessions),
  }),
);
