import type { z } from 'zod';
import { answering } from '../../core/documents.ts';
import type { OnlyFieldsOf } from '../../core/keys-of.ts';
import type { ArtifactInSession, PullRequestInSession } from './artifact-queries.ts';
import type { SessionDetails } from './document-operations.ts';
import {
  artifactDocument,
  type handledDocument,
  type holdDocument,
  htmlUrlOf,
  projectDocument,
  pullRequestDocument,
  type sessionDocument,
  stateFlags,
} from './documents.ts';
import type { SessionSource } from './entity.ts';
import type { ProjectRow, SessionRow } from './queries.ts';

export const toHoldDocument = ({ holdReason, heldById, heldAt }: SessionRow): z.input<typeof holdDocument> => ({
  reason: holdReason ?? '',
  heldBy: heldById,
  heldAt: heldAt ?? '',
});

export const toHandledDocument = ({ handledById, handledAt }: SessionRow): z.input<typeof handledDocument> => ({
  by: handledById,
  at: handledAt ?? '',
});

export const toPullRequestDocument = answering<PullRequestInSession, typeof pullRequestDocument>(
  pullRequestDocument,
  () => ({}),
);

export const toArtifactDocument = answering<ArtifactInSession, typeof artifactDocument>(
  artifactDocument,
  ({ pullRequests }) => ({ pullRequests: pullRequests.map(toPullRequestDocument) }),
);

export function toSessionDocument(
  { session, artifacts, project }: SessionDetails,
  publicUrl: string,
): z.input<typeof sessionDocument> {
  const {
    organizationId: _organizationId,
    creatorId: _creatorId,
    richContent: _richContent,
    agentOptions: _agentOptions,
    holdReason: _holdReason,
    heldById: _heldById,
    heldAt: _heldAt,
    holdCreatorLabel: _holdCreatorLabel,
    handledById: _handledById,
    handledAt: _handledAt,
    redactedAt: _redactedAt,
    source,
    state,
    mcpServers,
    ...fields
  } = session;
  // A column that is not public must be taken out above.
  fields satisfies OnlyFieldsOf<z.input<typeof sessionDocument>, typeof fields>;
  return {
    ...fields,
    mcpServers: [...mcpServers],
    htmlUrl: htmlUrlOf(session.id, publicUrl),
    artifacts: artifacts?.map(toArtifactDocument) ?? null,
    project: project ? projectToJson(project) : null,
    sessionSource: toSourceDocument(source),
    state: stateFlags(state),
  };
}

const toSourceDocument = ({ transcript: _transcript, repositories, ...source }: SessionSource) => ({
  ...source,
  repositories: [...repositories],
});

const projectToJson = answering<ProjectRow, typeof projectDocument>(projectDocument, () => ({}));
