import { resolveBatched } from '../../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { nodeType, uuidsOf } from '../../../core/graphql/nodes.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { resolveReference } from '../../../core/graphql/references.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import type { ArtifactRow, PullRequestRow } from '../artifact-queries.ts';
import { READ_SESSIONS, READ_SESSION_CONTENT } from '../policy.ts';
import { pullRequestsOf, readArtifacts, readPullRequests } from '../operations.ts';
import { ArtifactTypeEnum, PullRequestStatusEnum } from './enums.ts';

/** What sessions make. */

const NONE: readonly never[] = [];

const DiffType = builder.objectRef<PullRequestRow['diff']>('PullRequestDiff').implement({
  description: 'The change of a pull request.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: 'Lines added.' }),
    deletions: t.exposeInt('deletions', { description: 'Lines removed.' }),
    data: t.exposeString('data', { description: 'The change as a unified diff; at most 1,000,000 characters.' }),
  }),
});

const AuthorType = builder.objectRef<PullRequestRow['author']>('PullRequestAuthor').implement({
  description: 'Who opened a pull request.',
  fields: (t) => ({
    avatarUrl: t.expose('avatarUrl', { type: 'URL', description: 'Address of their picture.' }),
    login: t.exposeString('login', { description: 'Their name at the provider.' }),
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
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses; chosen by the runner.' }),
    name: t.exposeString('name', { description: 'Name of the repository.' }),
    owner: t.exposeString('owner', { description: 'Who owns it at the provider.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'The branch that changes go to.' }),
    provider: t.exposeString('provider', { description: 'Where it is hosted.' }),
  }),
});

function codeRepositoryOf({ id, codeRepository }: Pick<PullRequestRow, 'id' | 'codeRepository'>): CodeRepositoryRow {
  return { ...codeRepository, pullRequestId: id };
}

export const PullRequestType = nodeType<PullRequestRow>('PullRequest', {
  description: 'A pull request that a session has made.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readPullRequests(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    url: t.expose('url', { type: 'URL', description: 'Its page at the provider.' }),
    title: t.exposeString('title', { description: 'Its title; 1 to 1000 characters.' }),
    status: t.expose('status', { type: PullRequestStatusEnum, description: 'Whether it is open, merged or closed.' }),
    isDraft: t.exposeBoolean('isDraft', { description: 'Whether it is a draft.' }),
    sourceBranch: t.exposeString('sourceBranch', { description: 'The branch with the change.' }),
    baseBranch: t.exposeString('baseBranch', { description: 'The branch that it goes to.' }),
    headSha: t.exposeString('headSha', { description: 'The last commit of the change.' }),
    agent: t.exposeString('agent', { description: 'The agent that made it.' }),
    diff: t.expose('diff', { type: DiffType, description: 'The change.' }),
    author: t.expose('author', { type: AuthorType, description: 'Who opened it.' }),
    codeRepository: t.field({
      type: CodeRepositoryType,
      description: 'The repository that it is in.',
      extensions: needs<PullRequestRow>('id', 'codeRepository'),
      resolve: codeRepositoryOf,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was first recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

export const ArtifactType = nodeType<ArtifactRow>('Artifact', {
  description: 'Something that a session has made.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readArtifacts(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'UUID', description: 'The id that REST uses.' }),
    type: t.expose('type', { type: ArtifactTypeEnum, description: 'What it is.' }),
    pullRequests: t.field({
      type: [PullRequestType],
      description: 'Its pull requests, at most 100, by time of recording.',
      extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSION_CONTENT), ...needs<ArtifactRow>('id') },
      resolve: ({ id }, _, context, info) => {
        const selected = selectedColumns<PullRequestRow>(info, 'PullRequest');
        return resolveBatched({ context, info }, id, pullRequestsOf(context, selected), selected, NONE);
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was recorded.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
});

builder.objectField(PullRequestType, 'artifact', (t) =>
  t.field({
    type: ArtifactType,
    nullable: true,
    description: 'The artifact that it belongs to; null when it is gone by now.',
    extensions: { ...OWN_STATEMENT, ...refusable(READ_SESSIONS), ...needs<PullRequestRow>('artifactId') },
    resolve: ({ artifactId }, _, context, info) =>
      resolveReference({ context, info }, 'Artifact', artifactId, readArtifacts),
  }),
);
