import { type ChangeSet, ChangeSetType } from '@mikro-orm/postgresql';
import type { FeedData, NewFeedEntry } from '../../core/feed.ts';
import { EventDefinition, EventProperty } from '../event-definitions/public.ts';
import { McpConnection, feedSubjectOf } from '../mcp-connections/public.ts';
import { Membership } from '../organizations/public.ts';
import { PullRequest, Session } from '../sessions/public.ts';
import { DeletionJob } from '../user-deletions/public.ts';

/** The entries for the changed entities of a flush. Changes that no unit of work makes publish theirs themselves, by `publishToFeed`. */
export function feedEntriesOf(changes: readonly ChangeSet<object>[]): NewFeedEntry[] {
  const created = new Set<object>(
    changes.flatMap(({ type, entity }) => (type === ChangeSetType.CREATE ? [entity] : [])),
  );
  return changes.flatMap((change) => (isPartOfCreation(change.entity, created) ? [] : entriesOf(change)));
}

/** Whether the change belongs to the creation of another object, which has its own entry, or whose feed nobody reads yet. */
function isPartOfCreation(entity: object, created: ReadonlySet<object>): boolean {
  if (entity instanceof EventProperty) return created.has(entity.definition);
  return entity instanceof Membership && created.has(entity.organization);
}

function entriesOf({ entity, type, payload, originalEntity }: ChangeSet<object>): NewFeedEntry[] {
  const change: Change = {
    isNew: type === ChangeSetType.CREATE,
    isDeleted: type === ChangeSetType.DELETE || type === ChangeSetType.DELETE_EARLY,
    changes: (name) => name in payload,
    before: (name): unknown => originalEntity && Reflect.get(originalEntity, name),
  };
  if (entity instanceof Session) return ofSession(entity, change);
  if (entity instanceof PullRequest) return change.isDeleted ? [] : [ofPullRequest(entity)];
  if (entity instanceof McpConnection) return ofConnection(entity, change);
  if (entity instanceof EventDefinition) return [ofDefinition(entity, change)];
  if (entity instanceof EventProperty) return [ofProperty(entity)];
  if (entity instanceof Membership) return ofMembership(entity, change);
  if (entity instanceof DeletionJob) return ofDeletionJob(entity, change);
  return [];
}

interface Change {
  readonly isNew: boolean;
  readonly isDeleted: boolean;
  readonly changes: (name: string) => boolean;
  /** The earlier value of a changed property. */
  readonly before: (name: string) => unknown;
}

function ofSession({ id, organization, state }: Session, { isNew, changes, before }: Change): NewFeedEntry[] {
  const about = { organizationId: organization.id, subjectType: 'Session', subjectId: id } as const;
  if (isNew) return [{ ...about, type: 'session.created', data: { state } }];
  if (!changes('state')) return [];
  return [{ ...about, type: 'session.state_changed', data: { state, previousState: textOf(before('state')) } }];
}

const ofPullRequest = ({ id, organization, artifact, status }: PullRequest): NewFeedEntry => ({
  organizationId: organization.id,
  type: 'session.pull_request_changed',
  subjectType: 'Session',
  subjectId: artifact.session.id,
  data: { artifactId: artifact.id, pullRequestId: id, status },
});

function ofConnection(connection: McpConnection, { isNew, changes, before }: Change): NewFeedEntry[] {
  if (!isNew && !changes('status')) return [];
  const { status } = connection;
  const data: FeedData = isNew ? { status } : { status, previousStatus: textOf(before('status')) };
  return [{ ...feedSubjectOf(connection), type: 'mcp_connection.status_changed', data }];
}

function ofDefinition({ id, organization, deletedAt }: EventDefinition, { isNew }: Change): NewFeedEntry {
  const what = isNew ? 'created' : deletedAt == null ? 'changed' : 'deleted';
  return {
    organizationId: organization.id,
    type: `event_definition.${what}`,
    subjectType: 'EventDefinition',
    subjectId: id,
  };
}

const ofProperty = ({ organization, definition }: EventProperty): NewFeedEntry => ({
  organizationId: organization.id,
  type: 'event_definition.changed',
  subjectType: 'EventDefinition',
  subjectId: definition.id,
});

function ofMembership({ organization, user, role }: Membership, { isNew, isDeleted }: Change): NewFeedEntry[] {
  if (!isNew && !isDeleted) return [];
  const about = { organizationId: organization.id, subjectType: 'User', subjectId: user.id } as const;
  return [isNew ? { ...about, type: 'member.joined', data: { role } } : { ...about, type: 'member.left' }];
}

/** Only the organizations that the account was a member of see that it is deleted. That of a deleted organization is deleted with it. */
function ofDeletionJob({ id, state, leftOrganizations }: DeletionJob, { changes }: Change): NewFeedEntry[] {
  if (!changes('state') || state !== 'done') return [];
  return leftOrganizations.map((organizationId) => ({
    organizationId,
    type: 'deletion_job.finished',
    subjectType: 'DeletionJob',
    subjectId: id,
    data: { state },
  }));
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
