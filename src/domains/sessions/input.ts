import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import type { ArtifactId, ProjectId, SessionId, UserId } from '../../core/ids.ts';
import { isUuid } from '../../core/text/uuids.ts';
import { httpUri, idSchema, optional, text, withDefault } from '../../core/input/validation.ts';
import { richTextDocument } from './rich-text.ts';
import {
  ARTIFACT_TYPES,
  MODES,
  PROJECT_COLORS,
  PROJECT_ICONS,
  PULL_REQUEST_STATUSES,
  SANDBOX_SIZES,
  SESSION_STATES,
  SESSION_TYPES,
  VISIBILITIES,
} from './vocabulary.ts';

const title = text({ min: 1, max: 1000 });
export const MAX_DESCRIPTION = 1_000_000;
const description = text({ min: 1, max: MAX_DESCRIPTION });
const shortText = text({ min: 1, max: 500 });
const level = z.int().min(0).max(100);
/** Only http and https, because clients display these addresses as links. */
const address = httpUri({ max: 2048 });
/** Lower case, because notification topics compare ids as text. */
const sessionId = idSchema<SessionId>(z.uuid().toLowerCase());
const userId = idSchema<UserId>(z.uuid().toLowerCase());
/** Free text. A UUID is converted to lower case, so that it equals the id of its project. */
const projectId = shortText.overwrite((value) => (isUuid(value) ? value.toLowerCase() : value));

const reasoningLevel = text({ min: 1, max: 100 });
const objective = text({ max: 100_000 });

export const MAX_MCP_SERVERS = 100;
/** Ids or names of MCP connections. */
const mcpServers = z.array(text({ min: 1, max: 1000 })).max(MAX_MCP_SERVERS);

/** All fields are optional. An absent field does not change; null clears a nullable field. */
export const updateSessionInput = z.strictObject({
  sessionId,
  agent: shortText.nullable().optional(),
  agentOptions: z
    .strictObject({
      reasoningLevel: reasoningLevel.optional(),
      goal: z.strictObject({ enabled: z.boolean().optional(), objective: objective.optional() }).optional(),
    })
    .optional(),
  baseBranch: shortText.nullable().optional(),
  branchName: shortText.nullable().optional(),
  targetBranch: shortText.nullable().optional(),
  description: description.nullable().optional(),
  richContent: richTextDocument.nullable().optional(),
  level: level.optional(),
  mcpServers: mcpServers.optional(),
  projectId: projectId.nullable().optional(),
  title: title.optional(),
  mode: z.enum(MODES).optional(),
  sandboxSize: z.enum(SANDBOX_SIZES).nullable().optional(),
  visibility: z.enum(VISIBILITIES).optional(),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type UpdateSessionInput = z.output<typeof updateSessionInput>;

export const pinSessionInput = z.strictObject({
  sessionId,
  isPinned: withDefault(z.boolean(), true),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type PinSessionInput = z.output<typeof pinSessionInput>;

const repository = z.strictObject({ id: z.uuid(), name: shortText, provider: text({ min: 1, max: 100 }) });

const pullRequest = {
  url: address,
  title,
  status: z.enum(PULL_REQUEST_STATUSES),
  isDraft: withDefault(z.boolean(), false),
};

/** The description of a new session by its runner. */
export const createSessionInput = z.strictObject({
  title,
  description: optional(description),
  richContent: optional(richTextDocument),
  kind: withDefault(text({ min: 1, max: 100 }), 'agent'),
  sessionType: withDefault(z.enum(SESSION_TYPES), 'Chat'),
  mode: withDefault(z.enum(MODES), 'normal'),
  visibility: withDefault(z.enum(VISIBILITIES), 'private'),
  level: withDefault(level, 0),
  agent: optional(shortText),
  agentId: optional(z.uuid()),
  agentOptions: optional(
    z.strictObject({
      reasoningLevel: optional(reasoningLevel),
      goal: optional(z.strictObject({ enabled: optional(z.boolean()), objective: optional(objective) })),
    }),
  ),
  artifactType: optional(z.enum(ARTIFACT_TYPES)),
  baseBranch: optional(shortText),
  branchName: optional(shortText),
  targetBranch: optional(shortText),
  projectId: optional(projectId),
  /** Creates the project, or updates it when it exists. It takes precedence over `projectId`. */
  project: optional(
    z.strictObject({
      id: idSchema<ProjectId>(z.uuid().toLowerCase()),
      name: shortText,
      icon: withDefault(z.enum(PROJECT_ICONS), 'folder'),
      color: withDefault(z.enum(PROJECT_COLORS), 'neutral'),
    }),
  ),
  sandboxSize: optional(z.enum(SANDBOX_SIZES)),
  mcpServers: withDefault(mcpServers, []),
  externalId: optional(shortText),
  externalUrl: optional(address),
  source: optional(
    z.strictObject({
      id: optional(z.uuid()),
      name: shortText,
      type: text({ min: 1, max: 100 }),
      repositories: withDefault(z.array(repository).max(100), []),
    }),
  ),
  sourcePullRequest: optional(z.strictObject({ id: z.uuid(), ...pullRequest })),
  diffSummary: optional(z.strictObject({ additions: z.int32().min(0), deletions: z.int32().min(0) })),
});
export type CreateSessionInput = z.output<typeof createSessionInput>;

export const transitionSessionInput = z.strictObject({ sessionId, state: z.enum(SESSION_STATES) });
export type TransitionSessionInput = z.output<typeof transitionSessionInput>;

export const recordArtifactInput = z.strictObject({ sessionId, type: z.enum(ARTIFACT_TYPES) });
export type RecordArtifactInput = z.output<typeof recordArtifactInput>;

/** The `url` identifies a pull request within its artifact. Recording the same `url` again updates the pull request. */
export const recordPullRequestInput = z.strictObject({
  artifactId: idSchema<ArtifactId>(),
  ...pullRequest,
  sourceBranch: shortText,
  baseBranch: shortText,
  headSha: text({ min: 1, max: 100 }),
  agent: shortText,
  diff: z.strictObject({ additions: z.int32().min(0), deletions: z.int32().min(0), data: text({ max: 1_000_000 }) }),
  author: z.strictObject({ avatarUrl: address, login: shortText }),
  codeRepository: z.strictObject({
    id: z.uuid(),
    name: shortText,
    owner: shortText,
    baseBranch: shortText,
    provider: text({ min: 1, max: 100 }),
  }),
});
export type RecordPullRequestInput = z.output<typeof recordPullRequestInput>;

const anyOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(100).nullish();

/** Conditions on a list of sessions. All that are given must be met; null is the same as absent; an empty list matches nothing. */
export const sessionFilter = z.strictObject({
  states: anyOf(z.enum(SESSION_STATES)),
  sessionTypes: anyOf(z.enum(SESSION_TYPES)),
  modes: anyOf(z.enum(MODES)),
  visibilities: anyOf(z.enum(VISIBILITIES)),
  projectIds: anyOf(projectId),
  creatorIds: anyOf(userId),
  agents: anyOf(shortText),
  isPinned: z.boolean().nullish(),
  title: text({ max: 1000 }).nullish(),
  ...createdBetween,
});
export type SessionFilter = z.output<typeof sessionFilter>;

export const sessionReference = z.strictObject({ sessionId });
export type SessionReference = z.output<typeof sessionReference>;

const conditions = <Item extends z.ZodType>(item: Item, meaning: string) =>
  z.array(item).max(100).optional().meta({ description: meaning });

/** Query parameters of the REST list. They are the filter of GraphQL; a condition with several values is repeated in the query. */
export const listSessionsInput = z.strictObject({
  ...listInput,
  state: conditions(z.enum(SESSION_STATES), 'Sessions in this state. Can be repeated, at most 100 times.'),
  sessionType: conditions(z.enum(SESSION_TYPES), 'Sessions of this type. Can be repeated, at most 100 times.'),
  mode: conditions(z.enum(MODES), 'Sessions in this mode. Can be repeated, at most 100 times.'),
  visibility: conditions(z.enum(VISIBILITIES), 'Sessions with this visibility. Can be repeated, at most 100 times.'),
  projectId: conditions(projectId, 'Sessions in this project. Can be repeated, at most 100 times.'),
  isPinned: z
    .boolean()
    .optional()
    .meta({ description: 'True lists only pinned sessions, false only sessions that are not pinned.' }),
  title: text({ max: 1000 })
    .optional()
    .meta({ description: 'Sessions whose title contains this text. Case is ignored.' }),
  orderBy: z.enum(['createdAt', 'updatedAt', 'lastSeenAt']).default('createdAt'),
  sortOrder: z.enum(['ASC', 'DESC']).default('DESC'),
});
