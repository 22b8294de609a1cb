import { inputType } from '../../../core/graphql/derived-inputs.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { ArtifactType, PullRequestType } from './artifact-types.ts';
import { SessionType } from './types.ts';
import { AgentOptionsInput } from './operations.ts';
import {
  codeRepository,
  diffSummary,
  pullRequestAuthor,
  pullRequestDiff,
  sessionProject,
  sessionSource,
  sourcePullRequest,
  sourceRepository,
} from '../input.ts';
import { ensureSession } from '../ensure-operation.ts';
import { createSession, recordArtifact, recordPullRequest, transitionSession } from '../recording-operations.ts';
import type { PullRequestRow } from '../artifact-queries.ts';

inputType('SessionProjectInput', sessionProject);
inputType('SourceRepositoryInput', sourceRepository);
inputType('SessionSourceInput', sessionSource);
inputType('SourcePullRequestInput', sourcePullRequest);
inputType('DiffSummaryInput', diffSummary);
inputType('PullRequestDiffInput', pullRequestDiff);
inputType('PullRequestAuthorInput', pullRequestAuthor);
inputType('CodeRepositoryInput', codeRepository);

mutation(createSession, {
  ids: { mcpServers: 'McpServer' },
  types: { richContent: 'JSON', agentOptions: AgentOptionsInput },
  payload: one('session', SessionType, 'The new session.'),
});

mutation(ensureSession, {
  ids: { continuedFrom: 'Session' },
  payload: (t) => ({
    session: t.field({
      type: SessionType,
      description: 'The session of the transcript.',
      resolve: ({ session }) => session,
    }),
    isNew: t.exposeBoolean('isNew', { description: 'Whether the session was created.' }),
  }),
});

mutation(transitionSession, {
  ids: { sessionId: 'Session' },
  payload: one('session', SessionType, 'The session in its new state.'),
});

mutation(recordArtifact, {
  ids: { sessionId: 'Session' },
  payload: one('artifact', ArtifactType, 'The new artifact.'),
});

mutation(recordPullRequest, {
  ids: { artifactId: 'Artifact' },
  payload: one(
    'pullRequest',
    PullRequestType,
    'The new or updated pull request.',
    ({ pullRequest }: { readonly pullRequest: PullRequestRow }) => pullRequest,
  ),
});
