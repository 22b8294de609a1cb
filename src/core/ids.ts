declare const noun: unique symbol;

/**
 * An id of one kind of object. Passing the id of another kind does not compile. A plain string fits every kind, so new ids and ids from
 * outside need no cast; `idSchema` names the kind of an input field.
 */
type Id<Noun extends string> = string & { readonly [noun]?: Noun };

export type ApiKeyId = Id<'ApiKey'>;
export type ArtifactId = Id<'Artifact'>;
export type BroadcastChannelId = Id<'BroadcastChannel'>;
export type BroadcastId = Id<'Broadcast'>;
export type DeletionJobId = Id<'DeletionJob'>;
export type EventDefinitionId = Id<'EventDefinition'>;
export type EventPropertyId = Id<'EventProperty'>;
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
export type UserId = Id<'User'>;
export type WebhookDeliveryId = Id<'WebhookDelivery'>;
export type WebhookId = Id<'Webhook'>;
