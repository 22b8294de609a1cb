import { textOf } from '../../../core/documents.ts';
import { shown } from '../../../core/graphql/derived-fields.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { excerptArguments, excerptOf } from '../../../core/graphql/excerpts.ts';
import { filterType } from '../../../core/graphql/derived-inputs.ts';
import { uuidsOf } from '../../../core/graphql/global-ids.ts';
import { entityType, nodeType } from '../../../core/graphql/nodes.ts';
import { belowEach, listBelow, listType } from '../../../core/graphql/lists.ts';
import { refusable } from '../../../core/graphql/refusable.ts';
import { referenceTo } from '../../../core/graphql/references.ts';
import { needs } from '../../../core/graphql/selection.ts';
import type { ArtifactRow, PullRequestRow } from '../artifact-queries.ts';
import { READ_SESSIONS, READ_SESSION_CONTENT } from '../policy.ts';
import {
  pullRequestsBelow,
  pullRequestsOfRepositories,
  readArtifacts,
  readCodeRepositories,
  readPullRequests,
} from '../operations.ts';
import { artifactFilter, pullRequestFilter } from '../input.ts';
import './enums.ts';
import { pullRequestFields } from './value-types.ts';
import {
  artifactDocument,
  authorDocument,
  codeRepositoryDocument,
  diffDocument,
  pullRequestDocument,
} from '../documents.ts';

/** GraphQL types for the results of sessions. */

const DiffType = builder.objectRef<PullRequestRow['diff']>('PullRequestDiff').implement({
  description: 'The changes of a pull request.',
  fields: (t) => ({
    ...shown(t, diffDocument, ['additions', 'deletions']),
    data: t.string({
      description: diffDocument.shape.data.description,
      args: excerptArguments,
      resolve: ({ data }, args) => excerptOf(data, args),
    }),
  }),
});

const AuthorType = builder.objectRef<PullRequestRow['author']>('PullRequestAuthor').implement({
  description: 'The author of a pull request.',
  fields: (t) => shown(t, authorDocument, ['avatarUrl', 'login'], { types: { avatarUrl: 'URL' } }),
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
    ...shown(t, codeRepositoryDocument, ['name', 'owner', 'baseBranch', 'provider']),
  }),
});

export const PullRequestType = entityType<PullRequestRow>('PullRequest', {
  stored: { table: 'pull_request' },
  description: 'A pull request that a session created.',
  read: readPullRequests,
  fields: (t) => ({
    ...pullRequestFields(t),
    ...shown(t, pullRequestDocument, ['sourceBranch', 'baseBranch', 'headSha', 'agent']),
    diff: t.expose('diff', { type: DiffType, description: pullRequestDocument.shape.diff.description }),
    author: t.expose('author', { type: AuthorType, description: pullRequestDocument.shape.author.description }),
    codeRepository: t.field({
      type: CodeRepositoryType,
      description: pullRequestDocument.shape.codeRepository.description,
      extensions: needs<PullRequestRow>('organizationId', 'codeRepository'),
      resolve: ({ organizationId, codeRepository }) => ({ ...codeRepository, organizationId }),
    }),
    ...shown(t, pullRequestDocument, ['createdAt', 'updatedAt']),
  }),
});

export const ArtifactType = entityType<ArtifactRow>('Artifact', {
  stored: { table: 'artifact' },
  description: 'A result of a session, such as a plan, a file or pull requests.',
  read: readArtifacts,
  fields: (t) => ({
    ...shown(t, artifactDocument, ['type', 'createdAt', 'updatedAt']),
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

const pullRequestsOfRepository = belowEach(PULL_REQUEST_LIST, { rows: pullRequestsOfRepositories });
builder.objectField(CodeRepositoryType, 'pullRequests', (t) =>
  t.connection(
    {
      type: PullRequestType,
      description: 'Pull requests of the repository, of sessions that the caller can read, in the order of recording.',
      args: PULL_REQUEST_LIST.args,
      extensions: { ...refusable(READ_SESSION_CONTENT), ...needs<CodeRepositoryRow>('id') },
      resolve: ({ id }, args, context, info) => pullRequestsOfRepository(id.toLowerCase(), args, context, info),
    },
    PULL_REQUEST_LIST.connection,
  ),
);

builder.objectField(ArtifactType, 'pullRequests', (t) =>
  listBelow(t, PULL_REQUEST_LIST, {
    description: textOf(artifactDocument.shape.pullRequests),
    extensions: refusable(READ_SESSION_CONTENT),
    rows: pullRequestsBelow,
  }),
);
