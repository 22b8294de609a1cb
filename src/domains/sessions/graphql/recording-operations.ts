import { builder } from '../../../core/graphql/builder.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import {
  ArtifactTypeEnum,
  ProjectColorEnum,
  ProjectIconEnum,
  PullRequestStatusEnum,
  SessionModeEnum,
  SessionStateEnum,
  SessionTypeEnum,
  SessionVisibilityEnum,
} from './enums.ts';
import { ArtifactType, PullRequestType } from './artifact-types.ts';
import { SessionType } from './types.ts';
import { AgentOptionsInput, configurationFields } from './operations.ts';
import { createSessionInput, recordArtifactInput, recordPullRequestInput, transitionSessionInput } from '../input.ts';
import { createSession, recordArtifact, recordPullRequest, transitionSession } from '../recording-operations.ts';

const ProjectInput = builder.inputType('SessionProjectInput', {
  description: 'The project of a session. It is created, or updated when it exists.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Id of the project. The client chooses it.' }),
    name: t.string({ required: true, description: 'Name of the project, 1 to 500 characters.' }),
    icon: t.field({ type: ProjectIconEnum, defaultValue: 'folder', description: 'Icon of the project.' }),
    color: t.field({ type: ProjectColorEnum, defaultValue: 'neutral', description: 'Color of the project.' }),
  }),
});

const RepositoryInput = builder.inputType('SourceRepositoryInput', {
  description: 'A repository that a session works on.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Id of the repository. The client chooses it.' }),
    name: t.string({ required: true, description: 'Name of the repository, 1 to 500 characters.' }),
    provider: t.string({ required: true, description: 'Provider that hosts the repository, 1 to 100 characters.' }),
  }),
});

const SourceInput = builder.inputType('SessionSourceInput', {
  description: 'Where a session was started from.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', description: 'Id of the source. When absent, it is generated.' }),
    name: t.string({ required: true, description: 'Name of the source, 1 to 500 characters.' }),
    type: t.string({ required: true, description: 'Type of the source; free text of 1 to 100 characters.' }),
    repositories: t.field({
      type: [RepositoryInput],
      description: 'Repositories that the session works on, at most 100.',
    }),
  }),
});

const SourcePullRequestInput = builder.inputType('SourcePullRequestInput', {
  description: 'The pull request that a session was started from.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Id of the pull request. The client chooses it.' }),
    url: t.field({
      type: 'URL',
      required: true,
      description: 'Address of the pull request: `http` or `https`, at most 2048 characters.',
    }),
    title: t.string({ required: true, description: 'Title of 1 to 1000 characters.' }),
    status: t.field({ type: PullRequestStatusEnum, required: true, description: 'Status of the pull request.' }),
    isDraft: t.boolean({ defaultValue: false, description: 'Whether the pull request is a draft.' }),
  }),
});

const DiffSummaryInput = builder.inputType('DiffSummaryInput', {
  description: 'How many lines were changed.',
  fields: (t) => ({
    additions: t.int({ required: true, description: 'Lines added; at least 0.' }),
    deletions: t.int({ required: true, description: 'Lines removed; at least 0.' }),
  }),
});

mutation('createSession', {
  access: createSession.access,
  description: 'Creates a session of the caller in the state `QUEUED`, for agent runners.',
  schema: createSessionInput,
  ids: { mcpServers: 'McpServer' },
  input: (t) => ({
    title: t.string({ required: true, description: 'Title of 1 to 1000 characters.' }),
    ...configurationFields(t),
    kind: t.string({ defaultValue: 'agent', description: 'The kind of session; free text of 1 to 100 characters.' }),
    sessionType: t.field({
      type: SessionTypeEnum,
      defaultValue: 'Chat',
      description: 'Interface for working with the agent.',
    }),
    mode: t.field({ type: SessionModeEnum, defaultValue: 'normal', description: 'How the agent works.' }),
    visibility: t.field({
      type: SessionVisibilityEnum,
      defaultValue: 'private',
      description: 'Who can read the session.',
    }),
    level: t.int({ defaultValue: 0, description: '0 to 100.' }),
    agentId: t.field({ type: 'UUID', description: 'Id of the agent.' }),
    agentOptions: t.field({ type: AgentOptionsInput, description: 'Options of the agent.' }),
    artifactType: t.field({ type: ArtifactTypeEnum, description: 'The type of result that the agent is asked for.' }),
    project: t.field({
      type: ProjectInput,
      description: 'The project of the session. It takes precedence over `projectId`.',
    }),
    externalId: t.string({ description: 'Id of the session in another system, 1 to 500 characters.' }),
    externalUrl: t.field({
      type: 'URL',
      description: 'URL of the session in another system: `http` or `https`, at most 2048 characters.',
    }),
    source: t.field({ type: SourceInput, description: 'Where the session was started from. When absent, the API.' }),
    sourcePullRequest: t.field({
      type: SourcePullRequestInput,
      description: 'The pull request that the session was started from.',
    }),
    diffSummary: t.field({ type: DiffSummaryInput, description: 'How many lines the session changed.' }),
  }),
  run: async (context, input) => ({ session: await createSession(context, input) }),
  payload: (t) => ({
    session: t.field({ type: SessionType, description: 'The new session.', resolve: ({ session }) => session }),
  }),
});

mutation('transitionSession', {
  access: transitionSession.access,
  description:
    'Moves a session to another state. Allowed are `QUEUED` to `IN_PROGRESS` or `CANCELLED`, `IN_PROGRESS` to `COMPLETED`, `FAILED` or `CANCELLED`, and each of these three back to `QUEUED`. Only the creator and administrators can change a session.',
  schema: transitionSessionInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: '`id` or `databaseId` of the session.' }),
    state: t.field({ type: SessionStateEnum, required: true, description: 'The next state.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ session: await transitionSession(context, input) }),
  payload: (t) => ({
    session: t.field({
      type: SessionType,
      description: 'The session in its new state.',
      resolve: ({ session }) => session,
    }),
  }),
});

mutation('recordArtifact', {
  access: recordArtifact.access,
  description:
    'Records a result of a session. A session has at most 1,000 artifacts. Only the creator and administrators can change a session.',
  schema: recordArtifactInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: '`id` or `databaseId` of the session.' }),
    type: t.field({ type: ArtifactTypeEnum, required: true, description: 'Type of the artifact.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ artifact: await recordArtifact(context, input) }),
  payload: (t) => ({
    artifact: t.field({ type: ArtifactType, description: 'The new artifact.', resolve: ({ artifact }) => artifact }),
  }),
});

const PullRequestDiffInput = builder.inputType('PullRequestDiffInput', {
  description: 'The changes of a pull request.',
  fields: (t) => ({
    additions: t.int({ required: true, description: 'Lines added; at least 0.' }),
    deletions: t.int({ required: true, description: 'Lines removed; at least 0.' }),
    data: t.string({ required: true, description: 'The changes as a unified diff of at most 1,000,000 characters.' }),
  }),
});

const AuthorInput = builder.inputType('PullRequestAuthorInput', {
  description: 'The author of a pull request.',
  fields: (t) => ({
    avatarUrl: t.field({
      type: 'URL',
      required: true,
      description: 'Address of the avatar image: `http` or `https`, at most 2048 characters.',
    }),
    login: t.string({ required: true, description: 'Login name at the provider, 1 to 500 characters.' }),
  }),
});

const CodeRepositoryInput = builder.inputType('CodeRepositoryInput', {
  description: 'The repository of a pull request.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Id of the repository. The client chooses it.' }),
    name: t.string({ required: true, description: 'Name of the repository, 1 to 500 characters.' }),
    owner: t.string({ required: true, description: 'Owner of the repository at the provider, 1 to 500 characters.' }),
    baseBranch: t.string({ required: true, description: 'Base branch of the repository, 1 to 500 characters.' }),
    provider: t.string({ required: true, description: 'Provider that hosts the repository, 1 to 100 characters.' }),
  }),
});

mutation('recordPullRequest', {
  access: recordPullRequest.access,
  description:
    'Records a pull request of an artifact, or updates the pull request with the same `url`. An artifact has at most 100 pull requests. Only the creator of the session and administrators can change it.',
  schema: recordPullRequestInput,
  ids: { artifactId: 'Artifact' },
  input: (t) => ({
    artifactId: t.id({ required: true, description: '`id` or `databaseId` of the artifact.' }),
    url: t.field({
      type: 'URL',
      required: true,
      description:
        'Address of the pull request: `http` or `https`, at most 2048 characters. It identifies the pull request within the artifact.',
    }),
    title: t.string({ required: true, description: 'Title of 1 to 1000 characters.' }),
    status: t.field({ type: PullRequestStatusEnum, required: true, description: 'Status of the pull request.' }),
    isDraft: t.boolean({ defaultValue: false, description: 'Whether the pull request is a draft.' }),
    sourceBranch: t.string({
      required: true,
      description: 'The branch that contains the changes, 1 to 500 characters.',
    }),
    baseBranch: t.string({ required: true, description: 'The branch to merge into, 1 to 500 characters.' }),
    headSha: t.string({
      required: true,
      description: 'Hash of the last commit of the source branch, 1 to 100 characters.',
    }),
    agent: t.string({
      required: true,
      description: 'Name of the agent that created the pull request, 1 to 500 characters.',
    }),
    diff: t.field({ type: PullRequestDiffInput, required: true, description: 'The changes.' }),
    author: t.field({ type: AuthorInput, required: true, description: 'The author of the pull request.' }),
    codeRepository: t.field({
      type: CodeRepositoryInput,
      required: true,
      description: 'The repository of the pull request.',
    }),
  }),
  errors: [NotFoundError, ConflictError],
  run: recordPullRequest,
  payload: (t) => ({
    pullRequest: t.field({
      type: PullRequestType,
      description: 'The new or updated pull request.',
      resolve: ({ pullRequest }) => pullRequest,
    }),
  }),
});
