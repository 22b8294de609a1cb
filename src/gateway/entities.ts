import { AuditEntry } from '../core/audit.ts';
import { StoredSecret } from '../core/secrets/secret-store.ts';
import { ApiKey } from '../domains/api-keys/entity.ts';
import { RefusedAttempt } from '../domains/audit-log/entity.ts';
import { Broadcast, BroadcastChannel } from '../domains/broadcasts/entity.ts';
import { EventDefinition, EventProperty } from '../domains/event-definitions/entity.ts';
import {
  EventOccurrence,
  EventOccurrenceUuid,
  MonthlyOccurrenceCount,
  ObjectIdentifier,
} from '../domains/event-occurrences/entity.ts';
import { Invitation } from '../domains/invitations/entity.ts';
import { McpAuthorization, McpConnection, McpTokenRevocation } from '../domains/mcp-connections/entity.ts';
import { Membership, Organization } from '../domains/organizations/entity.ts';
import { SessionEvent, SessionEventBatch } from '../domains/session-events/entity.ts';
import { Artifact, Project, PullRequest, Session, SessionStream } from '../domains/sessions/entity.ts';
import { DeletedSession, DeletionJob } from '../domains/user-deletions/entity.ts';
import { User } from '../domains/users/entity.ts';
import { IdempotencyKey } from './idempotency/entity.ts';
import { RateLimit } from './admission/entity.ts';

/** The entities of all tables. */
export const entities = [
  Organization,
  Membership,
  Invitation,
  User,
  ApiKey,
  EventDefinition,
  EventProperty,
  EventOccurrence,
  EventOccurrenceUuid,
  ObjectIdentifier,
  MonthlyOccurrenceCount,
  McpConnection,
  McpAuthorization,
  McpTokenRevocation,
  Project,
  Session,
  Artifact,
  PullRequest,
  SessionStream,
  SessionEventBatch,
  SessionEvent,
  Broadcast,
  BroadcastChannel,
  DeletionJob,
  DeletedSession,
  StoredSecret,
  RateLimit,
  IdempotencyKey,
  AuditEntry,
  RefusedAttempt,
];
