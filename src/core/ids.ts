import { z } from 'zod';
import { isRepresentable } from './text/timestamps.ts';

declare const noun: unique symbol;

/**
 * An id of one kind of object. Passing the id of another kind does not compile. A plain string fits every kind, because the brand is an
 * optional property that no value has: a required one would need a cast wherever an id is created or read. Entities declare the kind
 * (`p.uuid().$type<SessionId>()`), from which foreign keys and queries infer it; `idSchema` names that of an input field.
 */
type Id<Noun extends string> = string & { readonly [noun]?: Noun };

export type ApiKeyId = Id<'ApiKey'>;
export type ArtifactId = Id<'Artifact'>;
export type BroadcastChannelId = Id<'BroadcastChannel'>;
export type BroadcastId = Id<'Broadcast'>;
export type DeletionJobId = Id<'DeletionJob'>;
export type EventDefinitionId = Id<'EventDefinition'>;
export type EventPropertyId = Id<'EventProperty'>;
export type GroupId = Id<'Group'>;
export type InvitationId = Id<'Invitation'>;
export type McpAuthorizationId = Id<'McpAuthorization'>;
export type McpConnectionId = Id<'McpConnection'>;
export type OperationManifestId = Id<'OperationManifest'>;
export type OrganizationId = Id<'Organization'>;
export type ProjectId = Id<'Project'>;
export type PullRequestId = Id<'PullRequest'>;
/** An account like that of a person, so that both can be an author. */
export type ServiceAccountId = UserId;
export type SessionId = Id<'Session'>;
export type ToolApprovalId = Id<'ToolApproval'>;
export type UserId = Id<'User'>;
export type WebhookDeliveryId = Id<'WebhookDelivery'>;
export type WebhookId = Id<'Webhook'>;

/** The pattern alone, because a schema takes ten times as long. */
const UUID = z.regexes.uuid();

/** Whether the text is a UUID in its hyphenated form (RFC 9562). */
export const isUuid = (text: string): boolean => UUID.test(text);

/** A UUID of version 7, of a time since 1970, from a random one. Rows whose index begins with the time are found by such an id alone. */
export function idAt(moment: Date, random: string): string {
  const digits = moment.getTime().toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7${random.slice(15)}`;
}

/** The time in such an id; null for another one. */
export function momentOf(id: string): string | null {
  const moment = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return id[14] === '7' && isRepresentable(moment) ? new Date(moment).toISOString() : null;
}
