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
  description: 'The project of a session; created, or brought up to date.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Chosen by the recorder.' }),
    name: t.string({ required: true, description: '1 to 500 characters.' }),
    icon: t.field({ type: ProjectIconEnum, defaultValue: 'folder', description: 'Its picture.' }),
    color: t.field({ type: ProjectColorEnum, defaultValue: 'neutral', description: 'Its color.' }),
  }),
});

const RepositoryInput = builder.inputType('SourceRepositoryInput', {
  description: 'A repository that a session works on.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
    name: t.string({ required: true, description: '1 to 500 characters.' }),
    provider: t.string({ required: true, description: 'Where it is hosted; 1 to 100 characters.' }),
  }),
});

const SourceInput = builder.inputType('SessionSourceInput', {
  description: 'Where a session comes from.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', description: 'Its id; made when absent.' }),
    name: t.string({ required: true, description: '1 to 500 characters.' }),
    type: t.string({ required: true, description: 'Its kind; free text of 1 to 100 characters.' }),
    repositories: t.field({ type: [RepositoryInput], description: 'At most 100.' }),
  }),
});

const SourcePullRequestInput = builder.inputType('SourcePullRequestInput', {
  description: 'The pull request that a session begins with.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
    url: t.field({
      type: 'URL',
      required: true,
      description: 'Its `http` or `https` address; at most 2048 characters.',
    }),
    title: t.string({ required: true, description: '1 to 1000 characters.' }),
    status: t.field({ type: PullRequestStatusEnum, required: true, description: 'Where it stands.' }),
    isDraft: t.boolean({ defaultValue: false, description: 'Whether it is a draft.' }),
  }),
});

const DiffSummaryInput = builder.inputType('DiffSummaryInput', {
  description: 'How much was changed.',
  fields: (t) => ({
    additions: t.int({ required: true, description: 'Lines added.' }),
    deletions: t.int({ required: true, description: 'Lines removed.' }),
  }),
});

mutation('createSession', {
  access: createSession.access,
  description: 'Begins to record a session of the caller; it is queued. For agent runners.',
  schema: createSessionInput,
  ids: { mcpServers: 'McpServer' },
  input: (t) => ({
    title: t.string({ required: true, description: '1 to 1000 characters.' }),
    ...configurationFields(t),
    kind: t.string({ defaultValue: 'agent', description: 'What kind of run it is; 1 to 100 characters.' }),
    sessionType: t.field({
      type: SessionTypeEnum,
      defaultValue: 'Chat',
      description: 'How people work with the agent.',
    }),
    mode: t.field({ type: SessionModeEnum, defaultValue: 'normal', description: 'How the agent works.' }),
    visibility: t.field({ type: SessionVisibilityEnum, defaultValue: 'private', description: 'Who reads it.' }),
    level: t.int({ defaultValue: 0, description: '0 to 100.' }),
    agentId: t.field({ type: 'UUID', description: 'Id of the agent.' }),
    agentOptions: t.field({ type: AgentOptionsInput, description: 'How the agent is set.' }),
    artifactType: t.field({ type: ArtifactTypeEnum, description: 'What it is to make.' }),
    project: t.field({ type: ProjectInput, description: 'Takes the place of `projectId`.' }),
    externalId: t.string({ description: '1 to 500 characters.' }),
    externalUrl: t.field({ type: 'URL', description: 'An `http` or `https` address of at most 2048 characters.' }),
    source: t.field({ type: SourceInput, description: 'Where it comes from; the API when absent.' }),
    sourcePullRequest: t.field({ type: SourcePullRequestInput, description: 'The pull request it begins with.' }),
    diffSummary: t.field({ type: DiffSummaryInput, description: 'How much it has changed.' }),
  }),
  run: async (context, input) => ({ session: await createSession(context, input) }),
  payload: (t) => ({
    session: t.field({ type: SessionType, description: 'The new session.', resolve: ({ session }) => session }),
  }),
});

mutation('transitionSession', {
  access: transitionSession.access,
  description:
    'Moves a session to another state: queued → in progress → completed, failed or cancelled; a finished one may be queued again.',
  schema: transitionSessionInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: 'Either id of the session.' }),
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
  description: 'Records something that a session has made; at most 1,000 a session.',
  schema: recordArtifactInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: 'Either id of the session.' }),
    type: t.field({ type: ArtifactTypeEnum, required: true, description: 'What it is.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ artifact: await recordArtifact(context, input) }),
  payload: (t) => ({
    artifact: t.field({ type: ArtifactType, description: 'The new artifact.', resolve: ({ artifact }) => artifact }),
  }),
});

const PullRequestDiffInput = builder.inputType('PullRequestDiffInput', {
  description: 'The change of a pull request.',
  fields: (t) => ({
    additions: t.int({ required: true, description: 'Lines added.' }),
    deletions: t.int({ required: true, description: 'Lines removed.' }),
    data: t.string({ required: true, description: 'The change itself; at most 1,000,000 characters.' }),
  }),
});

const AuthorInput = builder.inputType('PullRequestAuthorInput', {
  description: 'Who opened a pull request.',
  fields: (t) => ({
    avatarUrl: t.field({ type: 'URL', required: true, description: 'Address of their picture.' }),
    login: t.string({ required: true, description: 'Their name at the provider.' }),
  }),
});

const CodeRepositoryInput = builder.inputType('CodeRepositoryInput', {
  description: 'The repository of a pull request.',
  fields: (t) => ({
    id: t.field({ type: 'UUID', required: true, description: 'Its id.' }),
    name: t.string({ required: true, description: 'What it is called.' }),
    owner: t.string({ required: true, description: 'Who owns it.' }),
    baseBranch: t.string({ required: true, description: 'The branch that changes go to.' }),
    provider: t.string({ required: true, description: 'Where it is hosted.' }),
  }),
});

mutation('recordPullRequest', {
  access: recordPullRequest.access,
  description:
    'Records a pull request of an artifact, or brings the one with the same address up to date; at most 100 an artifact.',
  schema: recordPullRequestInput,
  ids: { artifactId: 'Artifact' },
  input: (t) => ({
    artifactId: t.id({ required: true, description: 'Either id of the artifact.' }),
    url: t.field({
      type: 'URL',
      required: true,
      description: 'Its address, by which the pull requests of an artifact are distinguished.',
    }),
    title: t.string({ required: true, description: '1 to 1000 characters.' }),
    status: t.field({ type: PullRequestStatusEnum, required: true, description: 'Where it stands.' }),
    isDraft: t.boolean({ defaultValue: false, description: 'Whether it is a draft.' }),
    sourceBranch: t.string({ required: true, description: 'The branch with the change.' }),
    baseBranch: t.string({ required: true, description: 'The branch that it goes to.' }),
    headSha: t.string({ required: true, description: 'The last commit of the change.' }),
    agent: t.string({ required: true, description: 'The agent that made it.' }),
    diff: t.field({ type: PullRequestDiffInput, required: true, description: 'The change.' }),
    author: t.field({ type: AuthorInput, required: true, description: 'Who opened it.' }),
    codeRepository: t.field({ type: CodeRepositoryInput, required: true, description: 'Where it is.' }),
  }),
  errors: [NotFoundError, ConflictError],
  run: recordPullRequest,
  payload: (t) => ({
    pullRequest: t.field({
      type: PullRequestType,
      description: 'The pull request as it is now.',
      resolve: ({ pullRequest }) => pullRequest,
    }),
  }),
});
