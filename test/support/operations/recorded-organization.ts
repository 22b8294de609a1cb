import { randomUUID } from 'node:crypto';
import { keyOfText } from '../../../src/core/graphql/global-ids.ts';
import type { TestGateway } from '../fixtures/gateway.ts';
import { invite } from '../fixtures/invitations.ts';
import { grantTo } from '../fixtures/oauth-grants.ts';
import { suspendMember } from '../fixtures/suspended-members.ts';
import { createGroup } from '../fixtures/groups.ts';
import { recordApproval } from '../fixtures/tool-approvals.ts';
import { createServiceAccount } from '../fixtures/service-accounts.ts';
import { recordWebhook } from '../fixtures/webhooks.ts';
import { recordSession } from '../fixtures/workspace.ts';
import { MANIFEST, type References } from './references.ts';

export interface Caller {
  readonly key: string;
  readonly keyId: string;
  readonly userId: string;
  readonly organizationId: string;
}

export type CallerName = 'admin' | 'member' | 'guest' | 'deletedUser';

/** An organization with one object of each kind, and the callers of its operations. */
export interface Recorded extends References {
  /** Who calls: an administrator; the member to whom `userId` and `apiKeyId` belong; who is invited from elsewhere; whose deletion is scheduled. */
  readonly callers: Readonly<Record<CallerName, Caller>>;
  /** The token of `invitationId`, whose e-mail address has no account, and that of the guest. */
  readonly invitationToken: string;
  readonly guestToken: string;
  readonly guestInvitationId: string;
  /** The MCP server of the connection. */
  readonly serverUrl: string;
}

export interface Admin extends Caller {
  /** The slug of the organization. */
  readonly organization: string;
}

interface Wanted {
  readonly serverUrl: string;
  /** Text that only the data of this organization has. */
  readonly mark: string;
}

/** Holds the session, or ends its hold: a hold refuses other operations, and a sample can leave out the operation that begins or ends it. */
export async function setHold(gateway: TestGateway, { sessionId, callers }: Recorded, isHeld: boolean): Promise<void> {
  const [path, { key }] = [`/v1/sessions/${sessionId}/hold`, callers.admin];
  if (isHeld) await gateway.rest('PUT', path, { key, body: { reason: 'Kept' } });
  else await gateway.rest('DELETE', path, { key });
}

const MANIFEST_PATH = '/v1/operation-manifests';
const OPERATIONS = { role: 'query Role { viewer { role } }' };

/** Publishes the manifest of the references again, after it was retired. */
export const publishManifest = (gateway: TestGateway, { callers }: Recorded) =>
  gateway.rest('POST', MANIFEST_PATH, { key: callers.admin.key, body: { ...MANIFEST, operations: OPERATIONS } });

/** Creates one object of each kind. Their names begin with the mark. */
export async function recordObjects(
  gateway: TestGateway,
  admin: Admin,
  { serverUrl, mark }: Wanted,
): Promise<Recorded> {
  const { key, organizationId, organization: slug } = admin;
  const create = async <Body>(path: string, body: object) =>
    (await gateway.rest<Body>('POST', path, { key, body })).body;
  const { connection } = await create<{ connection: { id: string } }>('/v1/mcp-connections', {
    name: `${mark} ${randomUUID()}`,
    serverUrl,
  });
  const mcpConnectionId = connection.id;
  // A recorded call would also append an event to its session.
  const settings = { handle: mcpConnectionId, recordToolCalls: 'NONE' };
  await gateway.rest('PATCH', `/v1/mcp-connections/${mcpConnectionId}/settings`, { key, body: settings });
  const session = { title: mark, mcpServers: [mcpConnectionId] };
  const { messageId: _, ...recorded } = await recordSession(gateway, key, session);
  const member = await gateway.createKey({
    organization: slug,
    email: `${mark}-${randomUUID()}@example.com`,
    role: 'member',
  });
  const { id: serviceAccountId } = await createServiceAccount(gateway, key, { name: mark });
  const guest = await gateway.createKey();
  const deletedUser = await gateway.createKey({ organization: slug, role: 'member' });
  const deletion = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${deletedUser.userId}`, {
    key: deletedUser.key,
    body: {},
  });
  const { id: guestInvitationId, token: guestToken } = await invite(gateway, key, guest.email);
  const { id: invitationId, token: invitationToken } = await invite(
    gateway,
    key,
    `${mark}-${randomUUID()}@example.com`,
  );
  const manifest = await create<{ id: string }>(MANIFEST_PATH, { ...MANIFEST, operations: OPERATIONS });
  const [entry] = await gateway.dependencies.sql.query<{ key: string }>(
    `select ${OCCURRED} as key from audit_entry where organization_id = $1 limit 1`,
    [organizationId],
  );
  return {
    ...recorded,
    ...(await recordEvent(gateway, admin, mark)),
    ...(await recordBroadcast(gateway, key, mark)),
    ...(await recordWebhook(gateway, key)),
    organizationId,
    slug,
    mcpConnectionId,
    serverUrl,
    callers: { admin, member, guest, deletedUser },
    userId: member.userId,
    suspendedUserId: await suspendMember(gateway, slug, `${mark}-${randomUUID()}@example.com`),
    apiKeyId: member.keyId,
    serviceAccountId,
    toolApprovalId: await recordApproval(gateway, {
      organizationId,
      connectionId: mcpConnectionId,
      userId: serviceAccountId,
    }),
    groupId: (await createGroup(gateway, key, { name: `${mark} ${randomUUID()}` })).id,
    connectedAppId: (await grantTo(gateway, admin, { path: '/mcp', clientName: mark })).id,
    invitationId,
    invitationToken,
    guestInvitationId,
    guestToken,
    manifestId: manifest.id,
    deletionJobId: deletion.body.deletionJobId,
    auditEntryKey: entry?.key ?? '',
    feedEntryKey: `${organizationId}:1`,
  };
}

/** The key in the global id of a row of a table with partitions, after the ids that it begins with. */
const OCCURRED = `(extract(epoch from occurred_at) * 1000)::bigint::text || ':' || id`;

/** An event definition, an occurrence, a refused occurrence, and an identifier of an object. */
async function recordEvent(gateway: TestGateway, { key, organizationId }: Admin, mark: string) {
  const name = `${mark}_${randomUUID().slice(0, 8)}`;
  const property = `${mark}_amount`;
  const choice = `${mark}_choice`;
  const propertyDefinitions = [
    { label: mark, name: property, type: 'string' },
    { label: `${mark} choice`, name: choice, type: 'enumeration', options: [{ label: 'Large', value: 'large' }] },
  ];
  const { body: definition } = await gateway.rest<{ id: string; fullyQualifiedName: string }>(
    'POST',
    '/events/2026-03/event-definitions',
    { key, body: { label: mark, name, propertyDefinitions } },
  );
  const occurrence = { eventName: name, properties: { [property]: mark }, email: `${mark}@example.com` };
  for (const body of [occurrence, { ...occurrence, properties: { unknown: 1 } }])
    await gateway.rest('POST', '/events/2026-03/send', { key, body });
  const value = randomUUID();
  await gateway.graphql(
    key,
    `mutation { registerObjectIdentifiers(input: { objectType: "CONTACT", propertyName: "badge", identifiers: [{ value: "${value}", objectId: "1" }] }) { __typename } }`,
  );
  const find = async (text: string, given: string) =>
    (await gateway.dependencies.sql.query<{ key: string }>(text, [given]))[0]?.key ?? '';
  const sent = await find(`select ${OCCURRED} as key from event_occurrence where definition_id = $1`, definition.id);
  return {
    eventNames: [name, definition.fullyQualifiedName, definition.id] as const,
    property,
    optionKey: `${choice}:${keyOfText('large')}`,
    occurrenceKey: `${definition.id}:${sent}`,
    identifierId: await find('select id as key from object_identifier where value = $1', value),
    violationId: await find('select id as key from event_violation where organization_id = $1', organizationId),
  };
}

async function recordBroadcast(gateway: TestGateway, key: string, mark: string) {
  const path = '/broadcast/v1/channels/setting/publish/current';
  const [channel] = (await gateway.rest<{ channelGuid: string }[]>('GET', path, { key })).body;
  const body = { channelGuid: channel?.channelGuid, content: { body: mark } };
  const { broadcastGuid } = (
    await gateway.rest<{ broadcastGuid: string }>('POST', '/broadcast/v1/broadcasts', { key, body })
  ).body;
  return { channelGuid: channel?.channelGuid ?? '', broadcastGuid };
}
