import { builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { nodeType } from '../../../core/graphql/nodes.ts';
import { listBelow, listType } from '../../../core/graphql/lists.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { referenceTo } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { type ArtifactRow, PULL_REQUESTS, type PullRequestRow } from '../artifact-queries.ts';
import { READ_SESSIONS, READ_SESSION_CONTENT } from '../policy.ts';
import { readArtifacts, readCodeRepositories, readPullRequests } from '../operations.ts';
import { artifactFilter, pullRequestFilter } from '../input.ts';
import { ArtifactTypeEnum } from './enums.ts';
import { pullRequestFields } from './pull-request-fields.ts';
import { ARTIFACT_TEXTS, AUTHOR_TEXTS, CODE_REPOSITORY_TEXTS, DIFF_TEXTS, PULL_REQUEST_TEXTS } from '../texts.ts';

/** GraphQL types for the results of sessions. */

const DiffType = builder.objectRef<PullRequestRow['diff']>('PullRequestDiff').implement({
  description: 'The changes of a pull request.',
  fields: (t) => ({
    additions: t.exposeInt('additions', { description: DIFF_TEXTS.additions }),
    deletions: t.exposeInt('deletions', { description: DIFF_TEXTS.deletions }),
    data: t.string({
      description: DIFF_TEXTS.data,
      args: excerptArguments,
      resolve: ({ data }, args) => excerptOf(data, args),
    }),
  }),
});

const AuthorType = builder.objectRef<PullRequestRow['author']>('PullRequestAuthor').implement({
  description: 'The author of a pull request.',
  fields: (t) => ({
    avatarUrl: t.expose('avatarUrl', { type: 'URL', description: AUTHOR_TEXTS.avatarUrl }),
    login: t.exposeString('login', { description: AUTHOR_TEXTS.login }),
  }),
});

type CodeRepositoryRow = PullRequestRow['codeRepository'] & { readonly organizationId: string };

const CodeRepositoryType = nodeType<CodeRepositoryRow>('CodeRepository', {
  description:
    'The repository of pull requests, as the runner described it: one object for all pull requests with its id. `node` finds it as the pull request that changed last describes it.',
  keyOf: ({ organizationId, id }) => `${organizationId}:${id.toLowerCase()}`,
  keyColumns: ['organizationId', 'id'],
  load: async (context, keys) => {
    const organizationId = context.actor.organization?.id;
    const own = keys
      .filter((key) => key.startsWith(`${organizationId}:`))
      .map((key) => key.slice(key.indexOf(':') + 1));
    const found = await readCodeRepositories(context, uuidsOf(own));
    return found.map((repository) => ({ ...repository, organizationId: organizationId ?? '' }));
  },
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses. The runner chose it.' }),
    name: t.exposeString('name', { description: CODE_REPOSITORY_TEXTS.name }),
    owner: t.exposeString('owner', { description: CODE_REPOSITORY_TEXTS.owner }),
    baseBranch: t.exposeString('baseBranch', { description: CODE_REPOSITORY_TEXTS.baseBranch }),
    provider: t.exposeString('provider', { description: CODE_REPOSITORY_TEXTS.provider }),
  }),
});

export const PullRequestType = nodeType<PullRequestRow>('PullRequest', {
  description: 'A pull request that a session created.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readPullRequests(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    ...pullRequestFields(t),
    sourceBranch: t.exposeString('sourceBranch', { description: PULL_REQUEST_TEXTS.sourceBranch }),
    baseBranch: t.exposeString('baseBranch', { description: PULL_REQUEST_TEXTS.baseBranch }),
    headSha: t.exposeString('headSha', { description: PULL_REQUEST_TEXTS.headSha }),
    agent: t.exposeString('agent', { description: PULL_REQUEST_TEXTS.agent }),
    diff: t.expose('diff', { type: DiffType, description: PULL_REQUEST_TEXTS.diff }),
    author: t.expose('author', { type: AuthorType, description: PULL_REQUEST_TEXTS.author }),
    codeRepository: t.field({
      type: CodeRepositoryType,
      description: PULL_REQUEST_TEXTS.codeRepository,
      extensions: needs<PullRequestRow>('organizationId', 'codeRepository'),
      resolve: ({ organizationId, codeRepository }) => ({ ...codeRepository, organizationId }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: PULL_REQUEST_TEXTS.createdAt }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: PULL_REQUEST_TEXTS.updatedAt }),
  }),
});

export const ArtifactType = nodeType<ArtifactRow>('Artifact', {
  description: 'A result of a session, such as a plan, a file or pull requests.',
  keyOf: ({ id }) => id,
  load: (context, keys, selected) => readArtifacts(context, uuidsOf(keys), selected),
  fields: (t) => ({
    databaseId: t.expose('id', { type: 'DatabaseId', description: 'The id that REST uses.' }),
    type: t.expose('type', { type: ArtifactTypeEnum, description: ARTIFACT_TEXTS.type }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: ARTIFACT_TEXTS.createdAt }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: ARTIFACT_TEXTS.updatedAt }),
  }),
});

builder.objectField(PullRequestType, 'artifact', (t) =>
  referenceTo(ArtifactType, readArtifacts)(
    t,
    'artifactId',
    'The artifact of the pull request. Null when it was deleted in the meantime.',
    READ_SESSIONS,
  ),
);

/** The orders of artifacts and of pull requests. */
const ORDERS = {
  fields: { CREATED_AT: 'Time of recording.', UPDATED_AT: 'Time of the last change.' },
  otherwise: { field: 'CREATED_AT', direction: 'ASC' },
} as const;

export const ARTIFACT_LIST = listType(ArtifactType, {
  of: 'artifacts',
  filter: filterType('ArtifactFilter', artifactFilter),
  conditions: 'Conditions on the artifacts. When absent, all artifacts are included.',
  ...ORDERS,
});

const PULL_REQUEST_LIST = listType(PullRequestType, {
  of: 'pull requests',
  filter: filterType('PullRequestFilter', pullRequestFilter),
  conditions: 'Conditions on the pull requests. When absent, all pull requests are included.',
  ...ORDERS,
});

builder.objectField(ArtifactType, 'pullRequests', (t) =>
  listBelow(t, PULL_REQUEST_LIST, {
    description: ARTIFACT_TEXTS.pullRequests,
    extensions: refusable(READ_SESSION_CONTENT),
    rows: PULL_REQUESTS,
  }),
);
