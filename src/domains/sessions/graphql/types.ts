import { RECORD_SESSIONS, WRITE_SESSIONS, mayChange } from '../policy.ts';
import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import type { AgentOptions, DiffSummary, SessionSource, SourcePullRequest } from '../entity.ts';
import {
  ArtifactTypeEnum,
  ProjectColorEnum,
  ProjectIconEnum,
  PullRequestStatusEnum,
  SandboxSizeEnum,
  SessionModeEnum,
  SessionStateEnum,
  SessionTypeEnum,
  SessionVisibilityEnum,
} from './enums.ts';
import type { ArtifactRow, PullRequestRow } from '../artifact-queries.ts';
import type { ProjectRow, SessionRow } from '../queries.ts';
import { type SessionStateFlags, htmlUrlOf, stateFlags } from '../derived.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { artifactsOf, projectsOf, pullRequestsOf, readSessions } from '../operations.ts';

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

const ProjectType = builder.objectRef<ProjectRow>('Project').implement({
  description: 'What sessions are grouped by.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    name: t.exposeString('name', { description: 'What it is called.' }),
    icon: t.expose('icon', { type: ProjectIconEnum, description: 'Its picture.' }),
    color: t.expose('color', { type: ProjectColorEnum, description: 'Its colour.' }),
  }),
});

const RepositoryType = builder.objectRef<SessionSource['repositories'][number]>('SourceRepository').implement({
  description: 'A repository that a session works on.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'What it is called.' }),
    provider: t.exposeString('provider', { description: 'Where it is hosted.' }),
  }),
});

const SessionSourceType = builder.objectRef<SessionSource>('SessionSource').implement({
  description: 'Where a session came from.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'What it is called.' }),
    type: t.exposeString('type', { description: 'Its kind; free text.' }),
    repositories: t.field({
      type: [RepositoryType],
      description: 'The repositories that the session works on.',
      resolve: ({ repositories }) => [...repositories],
    }),
  }),
});

const SourcePullRequestType = builder.objectRef<SourcePullRequest>('SourcePullRequest').implement({
  description: 'The pull request that a session began with.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
    title: t.exposeString('title', { description: 'Its title.' }),
    status: t.expose('status', { type: PullRequestStatusEnum, description: 'Where it stands.' }),
    isDraft: t.exposeBoolean('isDraft', { description: 'Whether it is a draft.' }),
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

const DiffType = builder.objectRef<PullRequestRow['diff']>('PullRequestDiff').implement({
  description: 'The change of a pull request.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: 'Lines added.' }),
    deletions: t.exposeInt('deletions', { description: 'Lines removed.' }),
    data: t.exposeString('data', { description: 'The change itself, as a unified diff.' }),
  }),
});

const AuthorType = builder.objectRef<PullRequestRow['author']>('PullRequestAuthor').implement({
  description: 'Who opened a pull request.',
  fields: (t) => ({
    avatarUrl: t.exposeString('avatarUrl', { description: 'Address of their picture.' }),
    login: t.exposeString('login', { description: 'Their name at the provider.' }),
  }),
});

const CodeRepositoryType = builder.objectRef<PullRequestRow['codeRepository']>('CodeRepository').implement({
  description: 'The repository of a pull request.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    name: t.exposeString('name', { description: 'What it is called.' }),
    owner: t.exposeString('owner', { description: 'Who owns it.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'The branch that changes go to.' }),
    provider: t.exposeString('provider', { description: 'Where it is hosted.' }),
  }),
});

export const PullRequestType = builder.objectRef<PullRequestRow>('PullRequest').implement({
  description: 'A pull request that a session has made.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    url: t.exposeString('url', { description: 'Its address.' }),
    title: t.exposeString('title', { description: 'Its title.' }),
    status: t.expose('status', { type: PullRequestStatusEnum, description: 'Where it stands.' }),
    isDraft: t.exposeBoolean('isDraft', { description: 'Whether it is a draft.' }),
    sourceBranch: t.exposeString('sourceBranch', { description: 'The branch with the change.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'The branch that it goes to.' }),
    headSha: t.exposeString('headSha', { description: 'The last commit of the change.' }),
    agent: t.exposeString('agent', { description: 'The agent that made it.' }),
    diff: t.expose('diff', { type: DiffType, description: 'The change.' }),
    author: t.expose('author', { type: AuthorType, description: 'Who opened it.' }),
    codeRepository: t.expose('codeRepository', { type: CodeRepositoryType, description: 'Where it is.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const ArtifactType = builder.objectRef<ArtifactRow>('Artifact').implement({
  description: 'Something that a session has made.',
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    type: t.expose('type', { type: ArtifactTypeEnum, description: 'What it is.' }),
    pullRequests: t.field({
      type: [PullRequestType],
      description: 'Its pull requests, at most 100, by time of recording.',
      extensions: { ...OWN_STATEMENT, ...needs<ArtifactRow>('id') },
      resolve: ({ id }, _, context, info) => {
        const selected = selectedColumns<PullRequestRow>(info, 'PullRequest');
        return resolveBatched({ context, info }, id, pullRequestsOf(context, selected), selected, NONE);
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const SessionType = nodeType<SessionRow>('Session', {
  description:
    'One run of a coding agent. A public one is read by the whole organization, a private one by its creator and the admins.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readSessions(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    title: t.exposeString('title', { description: '1 to 1000 characters.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is about, as plain text.' }),
    richContent: t.expose('richContent', {
      type: 'JSON',
      nullable: true,
      description: 'What it is about, as a rich-text document.',
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
      description: 'How the agent is set.',
    }),
    artifactType: t.expose('artifactType', {
      type: ArtifactTypeEnum,
      nullable: true,
      description: 'What it is to make.',
    }),
    baseBranch: t.exposeString('baseBranch', { nullable: true, description: 'The branch it starts from.' }),
    branchName: t.exposeString('branchName', { nullable: true, description: 'The branch it works on.' }),
    targetBranch: t.exposeString('targetBranch', { nullable: true, description: 'The branch its change goes to.' }),
    projectId: t.exposeString('projectId', { nullable: true, description: 'Which project it belongs to.' }),
    project: t.field({
      type: ProjectType,
      nullable: true,
      description: 'The project with that id; null when there is none.',
      extensions: { ...OWN_STATEMENT, ...needs<SessionRow>('projectId') },
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
    mcpServers: t.exposeStringList('mcpServers', {
      description:
        'Ids of the MCP connections that the agent may use. Deleted ones, and personal ones of somebody else, are left out.',
    }),
    externalId: t.exposeString('externalId', { nullable: true, description: 'Its id in another system.' }),
    externalUrl: t.exposeString('externalUrl', { nullable: true, description: 'Its address in another system.' }),
    htmlUrl: t.string({
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
      description: 'How much it has changed.',
    }),
    artifacts: t.field({
      type: [ArtifactType],
      description: 'What it has made, at most 1,000, by time of recording.',
      extensions: { ...OWN_STATEMENT, ...needs<SessionRow>('id') },
      resolve: ({ id }, _, context, info) => {
        const selected = selectedColumns<ArtifactRow>(info, 'Artifact');
        return resolveBatched({ context, info }, id, artifactsOf(context, selected), selected, NONE);
      },
    }),
    sessionSource: t.field({
      type: SessionSourceType,
      description: 'Where it came from.',
      extensions: needs<SessionRow>('source'),
      resolve: ({ source }) => source,
    }),
    sourcePullRequest: t.expose('sourcePullRequest', {
      type: SourcePullRequestType,
      nullable: true,
      description: 'The pull request it began with.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When its configuration or state last changed.',
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
