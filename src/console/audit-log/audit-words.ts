/** What operations do, in words. */

/** By what they change. The audit log offers them as its filter; it names operations as REST does. */
export const OPERATION_WORDS: readonly (readonly [group: string, words: Readonly<Record<string, string>>])[] = [
  [
    'Sessions',
    {
      createSession: 'Created the session',
      ensureSession: 'Created or renamed the session of a transcript',
      updateSession: 'Changed the session (title, visibility, …)',
      transitionSession: 'Changed the state',
      pinSession: 'Pinned or unpinned the session',
      pruneSessionEvents: 'Deleted old events',
      redactSessionEvents: 'Redacted texts',
      holdSession: 'Held the session',
      releaseSession: 'Released the session',
      readPrivateSession: 'Read a private session',
      markSessionHandled: 'Marked the session',
      exportSession: 'Exported the transcript',
      deleteSession: 'Deleted the session',
      appendSessionEvents: 'Recorded events',
      appendSessionLines: 'Recorded lines of an agent',
      recordArtifact: 'Recorded a result',
      recordPullRequest: 'Recorded a pull request',
    },
  ],
  [
    'Events',
    {
      createEventDefinition: 'Created the event definition',
      updateEventDefinition: 'Changed the event definition',
      deleteEventDefinition: 'Deleted the event definition',
      addEventProperty: 'Added a property',
      updateEventProperty: 'Changed a property',
      replaceEventPropertyType: 'Changed the type of a property',
      deleteEventProperty: 'Deleted a property',
      applyTrackingPlan: 'Applied a tracking plan',
      sendEventOccurrence: 'Sent an occurrence',
      sendEventOccurrences: 'Sent occurrences',
      registerObjectIdentifiers: 'Registered identifiers',
      removeObjectIdentifiers: 'Removed identifiers',
      deleteObjectOccurrences: 'Erased an object of events',
    },
  ],
  [
    'MCP connections',
    {
      createMcpConnection: 'Created the connection',
      updateMcpConnection: 'Changed the connection',
      updateMcpConnectionSettings: 'Changed the settings',
      authorizeMcpConnection: 'Started an authorization',
      completeMcpAuthorization: 'Completed an authorization',
      testMcpConnection: 'Tested the connection',
      callMcpTool: 'Called a tool',
      acceptMcpToolDefinitions: 'Accepted what the server says of tools',
      requestToolApproval: 'Asked for an approval of a call',
      decideToolApproval: 'Decided about a call',
      useToolApproval: 'Made an approved call',
      deleteMcpConnection: 'Deleted the connection',
    },
  ],
  [
    'Webhooks',
    {
      createWebhook: 'Created the webhook',
      updateWebhook: 'Changed the webhook',
      rotateWebhookSecret: 'Replaced the secret',
      tryWebhookNow: 'Tried again at once',
      pingWebhook: 'Sent a ping',
      redeliverWebhook: 'Sent a message again',
      replayWebhook: 'Sent entries again',
      disableWebhook: 'Turned off the webhook',
      deleteWebhook: 'Deleted the webhook',
    },
  ],
  [
    'Documents of clients',
    {
      publishOperationManifest: 'Published documents',
      retireOperationManifest: 'Retired documents',
    },
  ],
  [
    'Keys and sign-ins',
    {
      createApiKey: 'Created the key',
      extendApiKey: 'Added scopes to the key',
      renameApiKey: 'Renamed the key',
      unblockApiKey: 'Let the key act here again',
      revokeApiKey: 'Revoked the key',
      createServiceAccountApiKey: 'Created a key of a service account',
      signIn: 'Signed in',
      joinIdentity: 'Joined an identity of the provider',
      createSignInLink: 'Made a link for a sign-in',
      followGroups: 'Changed the groups as the provider says',
      followIdentity: 'Took over what the identity provider says',
      unlinkIdentities: 'Unlinked the identities of the provider',
      signOut: 'Signed out',
      connectApp: 'Connected an app',
      revokeConnectedApp: 'Disconnected an app',
      rotateSecrets: 'Encrypted secrets anew',
    },
  ],
  [
    'Organization and people',
    {
      createOrganization: 'Created the organization',
      updateOrganization: 'Changed the organization',
      updateOrganizationKeyPolicy: 'Changed which keys may act',
      updateOrganizationRetention: 'Changed the retention',
      applyRetention: 'Deleted what is older than the retention',
      deleteOrganization: 'Deleted the organization',
      exportOrganization: 'Exported everything',
      exportOrganizationMember: 'Exported what is of a person',
      deleteOrganizationMemberData: 'Deleted the private sessions of a person',
      redactOrganization: 'Redacted a text in all sessions',
      exportAuditLog: 'Took the audit log away',
      setSubscription: 'Changed the subscription',
      inviteOrganizationMember: 'Invited somebody',
      revokeOrganizationInvitation: 'Revoked an invitation',
      acceptOrganizationInvitation: 'Joined the organization',
      changeOrganizationMemberRole: 'Changed the role of a member',
      removeOrganizationMember: 'Removed a member',
      endOrganizationMemberSignIns: 'Ended the sign-ins of a member',
      createServiceAccount: 'Created the service account',
      updateServiceAccount: 'Changed the service account',
      deleteServiceAccount: 'Deleted the service account',
      reactivateOrganizationMember: 'Reactivated a member',
      createScimUser: 'Added a person with SCIM',
      updateScimUser: 'Changed a person with SCIM',
      deleteScimUser: 'Removed a person with SCIM',
      createScimGroup: 'Added a group with SCIM',
      updateScimGroup: 'Changed a group with SCIM',
      deleteScimGroup: 'Deleted a group with SCIM',
      createGroup: 'Created the group',
      updateGroup: 'Changed the group',
      deleteGroup: 'Deleted the group',
      leaveOrganization: 'Left the organization',
      updateViewer: 'Changed the account',
      deleteUser: 'Deleted the account',
      cancelUserDeletion: 'Kept the account',
    },
  ],
  [
    'Social publishing',
    {
      addBroadcastChannel: 'Added a channel',
      createBroadcast: 'Created a broadcast',
      cancelBroadcast: 'Canceled a broadcast',
    },
  ],
];

const WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  OPERATION_WORDS.flatMap(([, words]) => Object.entries(words)),
);

interface Change {
  readonly operation: string;
  readonly changedFields: readonly string[] | null;
  readonly refusal: string | null;
  readonly detail: string | null;
}

/** Of an operation that sets a value without changing one. */
const SETTING: Readonly<Record<string, string>> = {
  acceptOrganizationInvitation: 'as',
  createMcpConnection: 'as',
  createServiceAccount: 'as',
  createSession: 'as',
  disableWebhook: 'because it was',
  ensureSession: 'as',
  inviteOrganizationMember: 'as',
  markSessionHandled: 'as',
  recordArtifact: 'of the type',
  recordPullRequest: 'as',
  signIn: 'with',
};

/** Operations whose detail is a text for people. */
const WITH_TEXT = new Set([
  'applyRetention',
  'createApiKey',
  'createServiceAccountApiKey',
  'createWebhook',
  'deleteObjectOccurrences',
  'holdSession',
]);

/** What an entry of the audit log says. A refused attempt can also name a field that was read. */
export function changeOf({ operation, changedFields, refusal, detail }: Change): string {
  if (refusal !== null) return `Tried: ${wordsIn(operation)}`;
  const isGiven = operation === 'changeOrganizationMemberRole';
  const value = detail === null || isGiven ? (detail ?? '') : wordsIn(detail);
  if (changedFields?.includes('isPinned') && value) return value === 'true' ? 'Pinned' : 'Unpinned';
  if (changedFields?.includes('isEnabled') && changedFields.length === 1)
    return value === 'true' ? 'Enabled' : 'Disabled';
  if (changedFields) {
    const changed = `Changed ${listOf(changedFields.map(wordsIn))}`;
    if (!value) return changed;
    return changedFields.length === 1 ? `${changed} to ${value}` : `${changed} (${value})`;
  }
  const words = WORDS[operation] ?? sentence(wordsIn(operation));
  if (WITH_TEXT.has(operation) && detail !== null) return `${words}: ${detail}`;
  return value ? `${words} ${SETTING[operation] ?? 'to'} ${value}` : words;
}

/** `branchName` becomes `branch name`, `createApiKey` becomes `create API key`, and `KEY` becomes `key`. */
function wordsIn(name: string): string {
  const isConstant = /^[A-Z][A-Z_]+$/.test(name);
  return (isConstant ? name.toLowerCase().replaceAll('_', ' ') : name)
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll(/\b(?:api|mcp|oidc|url)\b/g, (word) => word.toUpperCase());
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const LIST = new Intl.ListFormat('en');

function listOf(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : LIST.format(names);
}
