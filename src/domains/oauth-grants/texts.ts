/** What the fields of connected apps mean, for both APIs. */
export const CONNECTED_APP_TEXTS = {
  id: 'Id of the connected app. The audit log has it as that of the key.',
  clientName: 'The name that the client gives itself.',
  clientHost:
    'The host that publishes the metadata document of the client, which nobody else can use. Null for a client that has registered itself, whose name is not checked, and for the recorder.',
  resource: 'The address that the client can use, and no other.',
  scopes: 'What the client may do, at least one permission.',
  organizationId: 'Id of the organization in which the client acts.',
  createdAt: 'When the person gave the consent.',
  lastUsedAt: 'When the client last sent a request, to the minute. Null when it never did.',
} as const;
