import { type InferKyselyDB, defineEntity, p } from '@mikro-orm/postgresql';
import type { ArtifactId, DeletionJobId, OrganizationId, ProjectId, PullRequestId, SessionId } from '../../core/ids.ts';
import { columnNames } from '../../core/postgres/reading/queries.ts';
import { Organization } from '../organizations/public.ts';
import { User } from '../users/public.ts';
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

export interface AgentOptions {
  readonly reasoningLevel?: string | null;
  readonly goal?: { readonly enabled?: boolean | null; readonly objective?: string | null } | null;
}

export interface DiffSummary {
  readonly additions: number;
  readonly deletions: number;
}

export interface SessionSource {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly repositories: readonly { readonly id: string; readonly name: string; readonly provider: string }[];
  /** The transcript of an agent that the session was ensured for. */
  readonly transcript?: TranscriptSource;
}

export interface TranscriptSource {
  readonly agent: string;
  readonly id: string;
  /** The session of somebody else with which the agent went on. */
  readonly continuedFrom?: SessionId;
}

export interface SourcePullRequest {
  readonly id: string;
  readonly url: string;
  readonly title: string;
  readonly status: (typeof PULL_REQUEST_STATUSES)[number];
  readonly isDraft: boolean;
}

const ProjectSchema = defineEntity({
  name: 'Project',
  tableName: 'project',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    /** The client chooses this id, so it is unique only within the organization. */
    id: p.uuid().$type<ProjectId>().primary(),
    name: p.text(),
    icon: p.enum(PROJECT_ICONS),
    color: p.enum(PROJECT_COLORS),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

/** A group of sessions. It is created together with its first session. */
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);

const SessionSchema = defineEntity({
  name: 'Session',
  tableName: 'session',
  properties: {
    id: p.uuid().$type<SessionId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** Null when the account of the creator is deleted. */
    creator: () => p.manyToOne(User).nullable().deleteRule('set null'),
    title: p.text(),
    description: p.text().nullable(),
    richContent: p.json<object>().nullable(),
    kind: p.text(),
    sessionType: p.enum(SESSION_TYPES),
    mode: p.enum(MODES),
    visibility: p.enum(VISIBILITIES),
    level: p.integer(),
    state: p.enum(SESSION_STATES),
    agent: p.text().nullable(),
    agentId: p.uuid().nullable(),
    agentOptions: p.json<AgentOptions>().nullable(),
    artifactType: p.enum(ARTIFACT_TYPES).nullable(),
    baseBranch: p.text().nullable(),
    branchName: p.text().nullable(),
    targetBranch: p.text().nullable(),
    /** Free text. When it is the id of a project, the session belongs to that project. */
    projectId: p.text().nullable(),
    sandboxSize: p.enum(SANDBOX_SIZES).nullable(),
    /** Ids of MCP connections, some of which may be deleted. */
    mcpServers: p.array(),
    externalId: p.text().nullable(),
    externalUrl: p.text().nullable(),
    /** Only for gateways of version 0.1, which read it during a rolling upgrade. Remove it in the next release. */
    htmlUrl: p.text().nullable(),
    isPinned: p.boolean(),
    diffSummary: p.json<DiffSummary>().nullable(),
    source: p.json<SessionSource>(),
    sourcePullRequest: p.json<SourcePullRequest>().nullable(),
    /** The three are null unless an administrator holds the session. Only `heldBy` can then be null, when that account is deleted. */
    holdReason: p.text().nullable(),
    heldBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    heldAt: p.datetime().nullable(),
    /** The name and address of the creator when the hold began, for administrators, also when the account is deleted. */
    holdCreatorLabel: p.text().nullable(),
    /** Who has marked the failed session as handled, and when. Only `handledBy` can then be null, when that account is deleted. */
    handledBy: () => p.manyToOne(User).nullable().deleteRule('set null'),
    handledAt: p.datetime().nullable(),
    redactedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    lastQueuedAt: p.datetime().nullable(),
    lastSeenAt: p.datetime(),
  },
  indexes: [
    { name: 'session_created_index', properties: ['organization', 'createdAt', 'id'] },
    { name: 'session_updated_index', properties: ['organization', 'updatedAt', 'id'] },
    { name: 'session_seen_index', properties: ['organization', 'lastSeenAt', 'id'] },
    { name: 'session_creator_index', properties: ['creator'] },
    { name: 'session_held_by_index', properties: ['heldBy'], where: 'held_by_id is not null' },
    {
      name: 'session_open_transcript_index',
      properties: ['updatedAt', 'id'],
      where: `state = 'inProgress' and source -> 'transcript' is not null`,
    },
    { name: 'session_held_index', properties: ['organization'], where: 'held_at is not null' },
    { name: 'session_handled_by_index', properties: ['handledBy'], where: 'handled_by_id is not null' },
    {
      name: 'session_completed_title_index',
      expression: `create index "session_completed_title_index" on "session" ("organization_id", md5("title")) where state = 'completed'`,
    },
    {
      name: 'session_completed_source_index',
      expression: `create index "session_completed_source_index" on "session" ("organization_id", ("source" ->> 'id')) where state = 'completed'`,
    },
  ],
});

/** One run of a coding agent. */
export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session);

const SessionStreamSchema = defineEntity({
  name: 'SessionStream',
  tableName: 'session_stream',
  properties: {
    session: () => p.oneToOne(Session).owner().primary().deleteRule('cascade'),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** Id of the last event. The events of a session are numbered from 1 without gaps. */
    lastId: p.bigint('number'),
    /** Whether the session is finished. Nothing can be appended then. */
    isClosed: p.boolean(),
    /** Id of the last event, and the time, when the session was last finished. */
    endedId: p.bigint('number').nullable(),
    endedAt: p.datetime().nullable(),
    /** The totals that events have reported; null until one does. */
    inputTokens: p.bigint('number').nullable(),
    outputTokens: p.bigint('number').nullable(),
    cachedInputTokens: p.bigint('number').nullable(),
    cacheWriteTokens: p.bigint('number').nullable(),
    costUsd: p.double().nullable(),
    turns: p.bigint('number').nullable(),
    toolCalls: p.bigint('number').nullable(),
    toolErrors: p.bigint('number').nullable(),
    durationMs: p.bigint('number').nullable(),
    /** How many of the calls and errors were counted from events; below 0 once the agent reports them itself. */
    countedToolCalls: p.bigint('number').nullable(),
    countedToolErrors: p.bigint('number').nullable(),
    /** What the format of an agent remembers of earlier lines, as JSON. */
    formatMemory: p.text().nullable(),
    /** The same of the lines that the command of a run has written, beside those of its transcript. */
    commandMemory: p.text().nullable(),
    /** Id of the event up to which it is known which lines of transcripts were stored. */
    linesUntil: p.bigint('number').default(0),
  },
});

/**
 * The head of the event stream of a session. Appending updates this row first, which locks it until the commit. Ids are
 * therefore assigned and become visible in the same order, and a reader that continues after the last id it has seen
 * misses nothing.
 */
export class SessionStream extends SessionStreamSchema.class {
  /** The session is finished. */
  close(at: Date): void {
    this.isClosed = true;
    this.endedId = this.lastId;
    this.endedAt = at;
  }
}
SessionStreamSchema.setClass(SessionStream);

const SessionSearchSchema = defineEntity({
  name: 'SessionSearch',
  tableName: 'session_search',
  properties: {
    session: () => p.oneToOne(Session).owner().primary().deleteRule('cascade'),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    /** Id of the last event whose text was indexed. */
    indexedId: p.bigint('number'),
    /** The different event types of the indexed events, at most 100; null for none. */
    eventTypes: p.array().nullable(),
    /** The models and tools that the indexed events name, and the tools that have failed, as the sums of usage name them; null for none. */
    models: p.array().nullable(),
    tools: p.array().nullable(),
    failedTools: p.array().nullable(),
    /** Changes with each event and title. Null when everything is indexed. */
    version: p.uuid().nullable(),
  },
  // The target of conflicts, which also exists when the primary key contains the organization (deploy/citus.sql).
  uniques: [{ name: 'session_search_session_unique', properties: ['session', 'organization'] }],
  indexes: [
    {
      name: 'session_search_pending_index',
      expression:
        'create index "session_search_pending_index" on "session_search" ("session_id") where "version" is not null',
    },
  ],
});

/** Whether the texts of a session are indexed for searches. Its own table, because it changes beside the head of the stream. */
export class SessionSearch extends SessionSearchSchema.class {}
SessionSearchSchema.setClass(SessionSearch);

const DeletedSessionSchema = defineEntity({
  name: 'DeletedSession',
  tableName: 'deleted_session',
  properties: {
    sessionId: p.uuid().$type<SessionId>().primary(),
    organizationId: p.uuid().$type<OrganizationId>(),
    /** The deletion of an account or organization that deletes the rest; null for the job \`session-purge\`. */
    deletionJobId: p.uuid().$type<DeletionJobId>().nullable(),
  },
  indexes: [{ name: 'deleted_session_job_index', properties: ['deletionJobId'] }],
});

/** A deleted session whose events, texts and batch ids are still to be deleted in batches. */
export class DeletedSession extends DeletedSessionSchema.class {}
DeletedSessionSchema.setClass(DeletedSession);

const EnsuredSessionSchema = defineEntity({
  name: 'EnsuredSession',
  tableName: 'ensured_session',
  properties: {
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    /** The account that owns the key. No foreign key, because accounts of more than one kind own keys. */
    ownerId: p.uuid().primary(),
    agent: p.text().primary(),
    sourceId: p.text().primary(),
    sessionId: p.uuid().$type<SessionId>(),
  },
});

/** The session of a transcript. It stays when the session is deleted, so that a later import does not create the session again. */
export class EnsuredSession extends EnsuredSessionSchema.class {}
EnsuredSessionSchema.setClass(EnsuredSession);

const TranscriptFileSchema = defineEntity({
  name: 'TranscriptFile',
  tableName: 'transcript_file',
  properties: {
    session: () => p.manyToOne(Session).primary().deleteRule('cascade'),
    name: p.text().primary(),
    organization: () => p.manyToOne(Organization).primary().deleteRule('cascade'),
    lines: p.integer(),
    mark: p.text(),
  },
});

/** What was received of a file of a transcript: how many lines, and the hash of the last one. */
export class TranscriptFile extends TranscriptFileSchema.class {}
TranscriptFileSchema.setClass(TranscriptFile);

const ArtifactSchema = defineEntity({
  name: 'Artifact',
  tableName: 'artifact',
  properties: {
    id: p.uuid().$type<ArtifactId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    session: () => p.manyToOne(Session).deleteRule('cascade'),
    type: p.enum(ARTIFACT_TYPES),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ name: 'artifact_session_index', properties: ['session', 'createdAt', 'id'] }],
});

/** A result of a session. */
export class Artifact extends ArtifactSchema.class {}
ArtifactSchema.setClass(Artifact);

const PullRequestSchema = defineEntity({
  name: 'PullRequest',
  tableName: 'pull_request',
  properties: {
    id: p.uuid().$type<PullRequestId>().primary(),
    organization: () => p.manyToOne(Organization).deleteRule('cascade'),
    artifact: () => p.manyToOne(Artifact).deleteRule('cascade'),
    url: p.text(),
    title: p.text(),
    status: p.enum(PULL_REQUEST_STATUSES),
    isDraft: p.boolean(),
    sourceBranch: p.text(),
    baseBranch: p.text(),
    headSha: p.text(),
    agent: p.text(),
    diff: p.json<DiffSummary & { readonly data: string }>(),
    author: p.json<{ readonly avatarUrl: string; readonly login: string }>(),
    codeRepository: p.json<{
      readonly id: string;
      readonly name: string;
      readonly owner: string;
      readonly baseBranch: string;
      readonly provider: string;
    }>(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [{ name: 'pull_request_url_unique', properties: ['artifact', 'url'] }],
  indexes: [
    {
      name: 'pull_request_repository_index',
      expression: `create index "pull_request_repository_index" on "pull_request" (lower("code_repository" ->> 'id'), "organization_id")`,
    },
  ],
});

/** A pull request within an artifact. */
export class PullRequest extends PullRequestSchema.class {}
PullRequestSchema.setClass(PullRequest);

export type SessionTables = InferKyselyDB<
  | typeof ProjectSchema
  | typeof SessionSchema
  | typeof SessionStreamSchema
  | typeof SessionSearchSchema
  | typeof DeletedSessionSchema
  | typeof EnsuredSessionSchema
  | typeof TranscriptFileSchema
  | typeof ArtifactSchema
  | typeof PullRequestSchema
>;
export const SESSION_COLUMNS = columnNames<SessionTables, 'session'>(SessionSchema, 'session').filter(
  (name) => name !== 'htmlUrl',
);
export const ARTIFACT_COLUMNS = columnNames<SessionTables, 'artifact'>(ArtifactSchema, 'artifact');
export const PULL_REQUEST_COLUMNS = columnNames<SessionTables, 'pull_request'>(PullRequestSchema, 'pull_request');
