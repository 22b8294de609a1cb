import { z } from 'zod';
import { textOf } from '../../core/documents.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween, momentInput, recentMomentInput } from '../../core/input/moments.ts';
import { type ArtifactId, type GroupId, type ProjectId, type SessionId, type UserId, isUuid } from '../../core/ids.ts';
import { httpUri, idSchema, optional, text, withDefault } from '../../core/input/validation.ts';
import { richTextDocument } from './rich-text.ts';
import {
  artifactDocument,
  authorDocument,
  changedLinesDocument,
  codeRepositoryDocument,
  diffDocument,
  projectDocument,
  pullRequestDocument,
  sessionDocument,
  transcriptDocument,
} from './documents.ts';
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

const title = text({ min: 1, max: 1000 }).describe('Title of the session.');
export const MAX_DESCRIPTION = 1_000_000;
const description = text({ min: 1, max: MAX_DESCRIPTION }).describe('The task as plain text.');
const richContent = richTextDocument.describe(
  'The task as a rich-text document. Without `description`, the description becomes its plain text.',
);
const shortText = text({ min: 1, max: 500 });
const agent = shortText.describe('Name of the agent.');
const baseBranch = shortText.describe('The branch to start from.');
const branchName = shortText.describe('The branch to work on.');
const targetBranch = shortText.describe('The branch to merge the changes into.');
const kind = text({ min: 1, max: 100 }).describe('The kind of session, as free text.');
const level = z.int().min(0).max(100).describe(textOf(sessionDocument.shape.level));
const mode = z.enum(MODES).describe(textOf(sessionDocument.shape.mode));
const sessionType = z.enum(SESSION_TYPES).describe(textOf(sessionDocument.shape.sessionType));
const visibility = z.enum(VISIBILITIES).describe(textOf(sessionDocument.shape.visibility));
const sandboxSize = z.enum(SANDBOX_SIZES).describe('Size of the machine that the session runs on.');
/** Only http and https, because clients display these addresses as links. */
const address = httpUri({ max: 2048 });
/** Lower case, because notification topics compare ids as text. */
const sessionId = idSchema<SessionId>(z.uuid().toLowerCase()).describe(textOf(sessionDocument.shape.id));
const userId = idSchema<UserId>(z.uuid().toLowerCase());
const groupId = idSchema<GroupId>(z.uuid().toLowerCase());
/** Free text. A UUID is converted to lower case, so that it equals the id of its project. */
const projectId = shortText
  .overwrite((value) => (isUuid(value) ? value.toLowerCase() : value))
  .describe('Id of a project, or free text.');

const GOAL = 'The goal of the agent.';
const reasoningLevel = text({ min: 1, max: 100 }).describe('How much the agent reasons, as free text.');
const isGoalEnabled = z.boolean().describe('Whether the agent works towards the goal.');
const objective = text({ max: 100_000 }).describe('The goal in words.');

export const MAX_MCP_SERVERS = 100;
const mcpServers = z
  .array(text({ min: 1, max: 1000 }))
  .max(MAX_MCP_SERVERS)
  .describe(
    'MCP connections that the caller can see, each by its id or by a name that only one of them has. They are stored as ids, without duplicates.',
  );

export const agentGoal = z
  .strictObject({ enabled: isGoalEnabled.optional(), objective: objective.optional() })
  .describe(GOAL);
export const agentOptions = z
  .strictObject({ reasoningLevel: reasoningLevel.optional(), goal: agentGoal.optional() })
  .describe('Options of the agent.');

/** All fields are optional. An absent field does not change; null clears a nullable field. */
export const updateSessionInput = z.strictObject({
  sessionId,
  agent: agent.nullable().optional(),
  agentOptions: agentOptions.describe('Options of the agent. An absent option does not change.').optional(),
  baseBranch: baseBranch.nullable().optional(),
  branchName: branchName.nullable().optional(),
  targetBranch: targetBranch.nullable().optional(),
  description: description.nullable().optional(),
  richContent: richContent.nullable().optional(),
  level: level.optional(),
  mcpServers: mcpServers.optional(),
  projectId: projectId.nullable().optional(),
  title: title.optional(),
  mode: mode.optional(),
  sandboxSize: sandboxSize.nullable().optional(),
  visibility: visibility.optional(),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

export const pinSessionInput = z.strictObject({
  sessionId,
  isPinned: withDefault(z.boolean(), true).describe('True pins the session, false unpins it.'),
  expectedUpdatedAt: expectedUpdatedAtInput,
});

const provider = text({ min: 1, max: 100 }).describe('Provider that hosts the repository.');
const repositoryName = shortText.describe('Name of the repository.');

export const sourceRepository = z
  .strictObject({
    id: z.uuid().describe('Id of the repository. The client chooses it.'),
    name: repositoryName,
    provider,
  })
  .describe('A repository that a session works on.');

export const sessionSource = z
  .strictObject({
    id: optional(z.uuid()).describe('Id of the source. When absent, it is generated.'),
    name: shortText.describe('Name of the source.'),
    type: text({ min: 1, max: 100 }).describe('Type of the source, as free text.'),
    repositories: withDefault(z.array(sourceRepository).max(100), []).describe(
      'Repositories that the session works on.',
    ),
  })
  .describe('Where a session was started from.');

const pullRequest = {
  url: address.describe('Address of the pull request: `http` or `https`.'),
  title: title.describe(textOf(pullRequestDocument.shape.title)),
  status: z.enum(PULL_REQUEST_STATUSES).describe(textOf(pullRequestDocument.shape.status)),
  isDraft: withDefault(z.boolean(), false).describe(textOf(pullRequestDocument.shape.isDraft)),
};

export const sourcePullRequest = z
  .strictObject({ id: z.uuid().describe('Id of the pull request. The client chooses it.'), ...pullRequest })
  .describe('The pull request that a session was started from.');

export const sessionProject = z
  .strictObject({
    id: idSchema<ProjectId>(z.uuid().toLowerCase()).describe('Id of the project. The client chooses it.'),
    name: shortText.describe(textOf(projectDocument.shape.name)),
    icon: withDefault(z.enum(PROJECT_ICONS), 'folder').describe(textOf(projectDocument.shape.icon)),
    color: withDefault(z.enum(PROJECT_COLORS), 'neutral').describe(textOf(projectDocument.shape.color)),
  })
  .describe('The project of a session. It is created, or updated when it exists.');

const lines = z.int32().min(0);
const changedLines = {
  additions: lines.describe(textOf(changedLinesDocument.shape.additions)),
  deletions: lines.describe(textOf(changedLinesDocument.shape.deletions)),
};
export const diffSummary = z.strictObject(changedLines).describe('How many lines were changed.');

/** The description of a new session by its runner. */
export const createSessionInput = z.strictObject({
  title,
  description: optional(description),
  richContent: optional(richContent),
  kind: withDefault(kind, 'agent'),
  sessionType: withDefault(sessionType, 'Chat'),
  mode: withDefault(mode, 'normal'),
  visibility: withDefault(visibility, 'private'),
  level: withDefault(level, 0),
  agent: optional(agent),
  agentId: optional(z.uuid()).describe('Id of the agent.'),
  agentOptions: optional(
    z.strictObject({
      reasoningLevel: optional(reasoningLevel),
      goal: optional(z.strictObject({ enabled: optional(isGoalEnabled), objective: optional(objective) })).describe(
        GOAL,
      ),
    }),
  ).describe('Options of the agent.'),
  artifactType: optional(z.enum(ARTIFACT_TYPES)).describe('The type of result that the agent is asked for.'),
  baseBranch: optional(baseBranch),
  branchName: optional(branchName),
  targetBranch: optional(targetBranch),
  projectId: optional(projectId),
  project: optional(sessionProject).describe('The project of the session. It takes precedence over `projectId`.'),
  sandboxSize: optional(sandboxSize),
  mcpServers: withDefault(mcpServers, []),
  externalId: optional(shortText).describe('Id of the session in another system.'),
  externalUrl: optional(address).describe('URL of the session in another system: `http` or `https`.'),
  source: optional(sessionSource).describe('Where the session was started from. When absent, the API.'),
  sourcePullRequest: optional(sourcePullRequest).describe('The pull request that the session was started from.'),
  diffSummary: optional(diffSummary).describe('How many lines the session changed.'),
});

/** The session of a transcript. What is optional is kept when the session exists. */
export const ensureSessionInput = z.strictObject({
  agent: text({ min: 1, max: 100 }).describe(textOf(transcriptDocument.shape.agent)),
  sourceId: text({ min: 1, max: 255 }).describe(textOf(transcriptDocument.shape.id)),
  title: optional(title).describe(
    'Title of a new session. When absent, the name of the agent and the id of the transcript.',
  ),
  previousTitle: optional(title).describe(
    'A title that an earlier request has given: a session that exists and still has it gets the new `title`. A session that a person has renamed keeps its title.',
  ),
  startedAt: optional(recentMomentInput()).describe(
    'When the transcript began, which becomes `createdAt` of a new session.',
  ),
  project: optional(shortText).describe(
    'Name of the project of a new session. The project is created when the organization has none with this name.',
  ),
  branchName: optional(branchName),
  continuedFrom: optional(sessionId).describe(
    'The session that the agent of a new session goes on with, whose content the caller can read: what it has is not counted again.',
  ),
  visibility: withDefault(visibility, 'private'),
});

export const transitionSessionInput = z.strictObject({
  sessionId,
  state: z.enum(SESSION_STATES).describe('The next state.'),
});

export const recordArtifactInput = z.strictObject({
  sessionId,
  type: z.enum(ARTIFACT_TYPES).describe(textOf(artifactDocument.shape.type)),
});

export const pullRequestDiff = z
  .strictObject({ ...changedLines, data: text({ max: 1_000_000 }).describe(textOf(diffDocument.shape.data)) })
  .describe(textOf(pullRequestDocument.shape.diff));
export const pullRequestAuthor = z
  .strictObject({
    avatarUrl: address.describe('Address of the avatar image: `http` or `https`.'),
    login: shortText.describe(textOf(authorDocument.shape.login)),
  })
  .describe(textOf(pullRequestDocument.shape.author));
export const codeRepository = z
  .strictObject({
    id: z.uuid().describe('Id of the repository. The client chooses it.'),
    name: repositoryName,
    owner: shortText.describe(textOf(codeRepositoryDocument.shape.owner)),
    baseBranch: shortText.describe(textOf(codeRepositoryDocument.shape.baseBranch)),
    provider,
  })
  .describe(textOf(pullRequestDocument.shape.codeRepository));

/** The `url` identifies a pull request within its artifact. Recording the same `url` again updates the pull request. */
export const recordPullRequestInput = z.strictObject({
  artifactId: idSchema<ArtifactId>(z.uuid().toLowerCase()).describe(textOf(artifactDocument.shape.id)),
  ...pullRequest,
  url: address.describe(
    'Address of the pull request: `http` or `https`. It identifies the pull request within the artifact.',
  ),
  sourceBranch: shortText.describe(textOf(pullRequestDocument.shape.sourceBranch)),
  baseBranch: shortText.describe(textOf(pullRequestDocument.shape.baseBranch)),
  headSha: text({ min: 1, max: 100 }).describe(textOf(pullRequestDocument.shape.headSha)),
  agent: shortText.describe(textOf(pullRequestDocument.shape.agent)),
  diff: pullRequestDiff,
  author: pullRequestAuthor,
  codeRepository,
});

const isPinned = z.boolean().describe('True lists only pinned sessions, false only sessions that are not pinned.');
const isHeld = z.boolean().describe('True lists only sessions that an administrator holds, false only others.');
const needsPerson = z
  .boolean()
  .describe(
    'True lists only failed sessions that nobody has marked as handled and whose work was not done again: no later public session, or later one of the same creator, of the same source, or of the same title and project, has completed. False lists only others.',
  );
const titlePart = text({ max: 1000 }).describe(
  'Sessions whose title contains this text. Case is ignored; there are no wildcards.',
);
const costFrom = z.number().min(0).describe('Sessions that have cost at least this much, in US dollars.');
const anyOf = <Item extends z.core.$ZodType>(item: Item) => z.array(item).max(100).nullish();

/** The names are collected with the index of the search. */
const INDEXED = 'New events count some seconds after they were recorded, and at most 200 names of a session.';

/** All conditions that are given must be met; null is the same as absent. */
export const sessionFilter = z
  .strictObject({
    states: anyOf(z.enum(SESSION_STATES)).describe('Sessions in any of these states.'),
    sessionTypes: anyOf(z.enum(SESSION_TYPES)).describe('Sessions of any of these types.'),
    modes: anyOf(z.enum(MODES)).describe('Sessions in any of these modes.'),
    visibilities: anyOf(z.enum(VISIBILITIES)).describe('Sessions with any of these visibilities.'),
    projectIds: anyOf(projectId).describe(
      'Sessions in any of these projects, each by its `id`, its `databaseId`, or the free text in `projectId`.',
    ),
    creatorIds: anyOf(userId).describe('Sessions created by any of these people and service accounts.'),
    creatorGroupIds: anyOf(groupId).describe('Sessions whose creator is now in any of these groups.'),
    agents: anyOf(shortText).describe('Sessions of any of these agents.'),
    models: anyOf(shortText).describe(`Sessions that have reported usage of any of these models. ${INDEXED}`),
    tools: anyOf(shortText).describe(`Sessions in which a call of any of these tools has ended. ${INDEXED}`),
    failedTools: anyOf(shortText).describe(`Sessions in which a call of any of these tools has failed. ${INDEXED}`),
    isPinned: isPinned.nullish(),
    isHeld: isHeld.nullish(),
    needsPerson: needsPerson.nullish(),
    title: text({ max: 1000 }).nullish().describe('As `search`.'),
    search: titlePart.nullish(),
    costFrom: costFrom.nullish(),
    ...createdBetween,
    lastSeenFrom: momentInput().nullish().describe('Sessions whose `lastSeenAt` is this time or later.'),
    lastSeenBefore: momentInput().nullish().describe('Sessions whose `lastSeenAt` is before this time.'),
  })
  .describe(
    'Conditions on sessions. A session is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type SessionFilter = z.output<typeof sessionFilter>;

export const artifactFilter = z
  .strictObject({
    types: anyOf(z.enum(ARTIFACT_TYPES)).describe('Artifacts of any of these types.'),
    ...createdBetween,
  })
  .describe('Conditions on artifacts. An artifact is listed when it meets all of them.');
export type ArtifactFilter = z.output<typeof artifactFilter>;

export const pullRequestFilter = z
  .strictObject({
    statuses: anyOf(z.enum(PULL_REQUEST_STATUSES)).describe('Pull requests with any of these statuses.'),
    isDraft: z.boolean().nullish().describe('True lists only drafts, false only pull requests that are not drafts.'),
    ...createdBetween,
  })
  .describe('Conditions on pull requests. A pull request is listed when it meets all of them.');
export type PullRequestFilter = z.output<typeof pullRequestFilter>;

export const projectFilter = z
  .strictObject({
    name: text({ max: 500 }).nullish().describe('As `search`.'),
    search: text({ max: 500 })
      .nullish()
      .describe('Projects whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe('Conditions on projects. A project is listed when it meets all of them.');
export type ProjectFilter = z.output<typeof projectFilter>;

/** Conditions on the sessions of what is listed. */
export const sessionsCreated = {
  createdFrom: momentInput().nullish().describe('Of sessions created at this time or later.'),
  createdBefore: momentInput().nullish().describe('Of sessions created before this time.'),
};

export const agentFilter = z
  .strictObject({
    name: text({ max: 500 }).nullish().describe('As `search`.'),
    search: text({ max: 500 })
      .nullish()
      .describe('Agents whose name contains this text. Case is ignored; there are no wildcards.'),
    ...sessionsCreated,
  })
  .describe('Conditions on the agents of sessions. An agent is listed when it meets all of them.');
export type AgentFilter = z.output<typeof agentFilter>;

export const sessionReference = z.strictObject({ sessionId });

export const sessionReferences = z.strictObject({
  sessionIds: z.array(sessionId).min(1).max(100).describe('Ids of the sessions, at most 100.'),
});

export const holdSessionInput = z.strictObject({
  sessionId,
  reason: text({ min: 1, max: 1000 }).describe('Why the session is held.'),
});

export const markSessionHandledInput = z.strictObject({
  sessionId,
  isHandled: z.boolean().describe('True marks the session, false takes the mark back.'),
});

/** Query parameters of the REST list. */
export const listPullRequestsInput = z.strictObject({ sessionId, ...listInput });

/** A parameter of the query that is repeated for each value. */
const conditions = <Item extends z.core.$ZodType>(item: Item, meaning: string) =>
  z.array(item).max(100).optional().describe(`${meaning} Can be repeated, at most 100 times.`);

/** The filter of GraphQL as query parameters of REST; a condition with several values is repeated in the query. */
export const sessionConditions = {
  state: conditions(z.enum(SESSION_STATES), 'Sessions in this state.'),
  sessionType: conditions(z.enum(SESSION_TYPES), 'Sessions of this type.'),
  mode: conditions(z.enum(MODES), 'Sessions in this mode.'),
  visibility: conditions(z.enum(VISIBILITIES), 'Sessions with this visibility.'),
  projectId: conditions(projectId, 'Sessions in this project.'),
  isPinned: isPinned.optional(),
  isHeld: isHeld.optional(),
  needsPerson: needsPerson.optional(),
  title: titlePart.optional(),
  costFrom: costFrom.optional(),
};

/** The filter of these parameters, whose names are singular because they are repeated for each value. */
export function sessionFilterOf({
  state: states,
  sessionType: sessionTypes,
  mode: modes,
  visibility: visibilities,
  projectId: projectIds,
  ...filter
}: z.output<z.ZodObject<typeof sessionConditions>>): SessionFilter {
  return { ...filter, states, sessionTypes, modes, visibilities, projectIds };
}
