import { AuditEntry } from '../core/audit.ts';
import { StoredSecret } from '../core/secrets/secret-store.ts';
import { ApiKey } from '../domains/api-keys/public.ts';
import { RefusedAttempt } from '../domains/audit-log/public.ts';
import { Broadcast, BroadcastChannel } from '../domains/broadcasts/public.ts';
import { EventDefinition, EventProperty } from '../domains/event-definitions/public.ts';
import {
  EventOccurrence,
  EventOccurrenceUuid,
  MonthlyOccurrenceCount,
  ObjectIdentifier,
} from '../domains/event-occurrences/public.ts';
import { Invitation } from '../domains/invitations/public.ts';
import { McpAuthorization, McpConnection, McpTokenRevocation } from '../domains/mcp-connections/public.ts';
import { Membership, Organization } from '../domains/organizations/public.ts';
import { SessionEvent, SessionEventBatch } from '../domains/session-events/public.ts';
import { Artifact, Project, PullRequest, Session, SessionStream } from '../domains/sessions/public.ts';
import { DeletedSession, DeletionJob } from '../domains/user-deletions/public.ts';
import { User } from '../domains/users/public.ts';
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
