import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { type ArtifactRow, type PullRequestRow, pullRequestsWith } from '../artifact-queries.ts';
import { READ_SESSIONS, READ_SESSION_CONTENT } from '../policy.ts';
import { pullRequestsOf, readArtifacts, readPullRequests } from '../operations.ts';
import { ArtifactTypeEnum } from './enums.ts';
import { pullRequestFields } from './pull-request-fields.ts';

/** GraphQL types for the results of sessions. */

const NONE: readonly never[] = [];

const DiffType = builder.objectRef<PullRequestRow['diff']>('PullRequestDiff').implement({
  description: 'The changes of a pull request.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: 'Lines added.' }),
    deletions: t.exposeInt('deletions', { description: 'Lines removed.' }),
    data: t.exposeString('data', { description: 'The changes as a unified diff of at most 1,000,000 characters.' }),
  }),
});

const AuthorType = builder.objectRef<PullRequestRow['author']>('PullRequestAuthor').implement({
  description: 'The author of a pull request.',
  fields: (t) => ({
    avatarUrl: t.expose('avatarUrl', { type: 'URL', description: 'Address of the avatar image.' }),
    login: t.exposeString('login', { description: 'Login name at the provider.' }),
  }),
});

type CodeRepositoryRow = PullRequestRow['codeRepository'] & { readonly pullRequestId: string };

const CodeRepositoryType = nodeType<CodeRepositoryRow>('CodeRepository', {
  description: 'The repository of a pull request, as the runner described it.',
  keyOf: ({ pullRequestId }) => pullRequestId,
  keyColumns: ['pullRequestId'],
  load: async (context, keys) =>
    (await readPullRequests(context, uuidsOf(keys), ['id', 'codeRepository'])).map(codeRepositoryOf),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses. The runner chose it.' }),
    name: t.exposeString('name', { description: 'Name of the repository.' }),
    owner: t.exposeString('owner', { description: 'Owner of the repository at the provider.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'Base branch of the repository.' }),
    provider: t.exposeString('provider', { description: 'Provider that hosts the repository.' }),
  }),
});

function codeRepositoryOf({ id, codeRepository }: Pick<PullRequestRow, 'id' | 'codeRepository'>): CodeRepositoryRow {
  return { ...codeRepository, pullRequestId: id };
}

export const PullRequestType = nodeType<PullRequestRow>('PullRequest', {
  description: 'A pull request that a session created.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readPullRequests(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    ...pullRequestFields(t),
    sourceBranch: t.exposeString('sourceBranch', { description: 'The branch that contains the changes.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'The branch to merge into.' }),
    headSha: t.exposeString('headSha', { description: 'Hash of the last commit of the source branch.' }),
    agent: t.exposeString('agent', { description: 'Name of the agent that created the pull request.' }),
    diff: t.expose('diff', { type: DiffType, description: 'The changes.' }),
    author: t.expose('author', { type: AuthorType, description: 'The author of the pull request.' }),
    codeRepository: t.field({
      type: CodeRepositoryType,
      description: 'The repository of the pull request.',
      extensions: needs<PullRequestRow>('id', 'codeRepository'),
      resolve: codeRepositoryOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the pull request was first recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the pull request was last recorded.' }),
  }),
});

export const ArtifactType = nodeType<ArtifactRow>('Artifact', {
  description: 'A result of a session, such as a plan, a file or pull requests.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readArtifacts(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    type: t.expose('type', { type: ArtifactTypeEnum, description: 'Type of the artifact.' }),
    pullRequests: t.field({
      type: [PullRequestType],
      description: 'Pull requests of the artifact, at most 100, in the order of recording.',
      extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSION_CONTENT), ...needs<ArtifactRow>('id') },
      resolve: (artifact, _, context, info) => {
        const known = pullRequestsWith(artifact);
        if (known) return known;
        const selected = selectedColumns<PullRequestRow>(info, 'PullRequest');
        return resolveBatched({ context, info }, artifact.id, pullRequestsOf(context, selected), selected, NONE);
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the artifact was recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When the artifact was last changed.' }),
  }),
});

builder.objectField(PullRequestType, 'artifact', (t) =>
  t.field({
    type: ArtifactType,
    nullable: true,
    description: 'The artifact of the pull request. Null when it was deleted in the meantime.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<PullRequestRow>('artifactId') },
    resolve: ({ artifactId }, _, context, info) =>
      resolveReference({ context, info }, 'Artifact', artifactId, readArtifacts),
  }),
);
