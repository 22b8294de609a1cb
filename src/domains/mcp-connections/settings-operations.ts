import { newValues } from '../../core/audit.ts';
import { isDeepStrictEqual } from 'node:util';
import { requireOrganization } from '../../core/access.ts';
import { ConflictError, type InputFault, NotFoundError, ValidationError, notFound } from '../../core/errors.ts';
import { requireUnchanged } from '../../core/input/expected-version.ts';
import { type OperationContext, defineOperation, unchanged } from '../../core/operation.ts';
import { sentences } from '../../core/text/wording.ts';
import { keysOf } from '../../core/keys-of.ts';
import { requireGroups } from '../groups/public.ts';
import type { McpConnection } from './entity.ts';
import { handleTaken, lockHandles, requireFreeHandle, requireReuser, reserveHandle } from './connection-handle.ts';
import { mcpConnectionReference } from './input.ts';
import {
  ADMINS_MANAGE_SHARED,
  READ_MCP_CONNECTIONS,
  WRITE_MCP_CONNECTIONS,
  loadManaged,
  requireKnownRules,
  targetOf,
} from './policy.ts';
import { MCP_CONNECTIONS } from './queries.ts';
import { groupsIn, settingFaults, sharedFaults, updateMcpConnectionSettingsInput } from './settings-input.ts';
import { SETTINGS_TEXTS } from './texts.ts';
import { mcpConnectionTopic } from './topics.ts';

export const SETTINGS = keysOf(SETTINGS_TEXTS);

export const readMcpConnectionSettings = defineOperation({
  name: 'readMcpConnectionSettings',
  description: 'Reads the settings of an MCP connection that the caller can see.',
  access: READ_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError],
  run: async (context, { mcpConnectionId }) => {
    const [row] = await MCP_CONNECTIONS.find(context, [mcpConnectionId], SETTINGS);
    if (!row) throw notFound('MCP connection');
    return row;
  },
});

export const updateMcpConnectionSettings = defineOperation({
  name: 'updateMcpConnectionSettings',
  description: sentences(
    'Updates the settings of an MCP connection without calling its server. An absent field does not change; null clears a nullable field. Settings of the authorization apply from the next authorization on.',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: updateMcpConnectionSettingsInput,
  errors: [NotFoundError, ConflictError],
  run: async (context, { mcpConnectionId, expectedUpdatedAt, reuseHandle, ...given }) => {
    const { em, actor, now } = context;
    requireReuser(actor, reuseHandle);
    await requireKnownRules(context, given);
    await requireGroups(em, requireOrganization(actor).id, groupsIn(given));
    const connection = await loadManaged(em, actor, mcpConnectionId, { lock: true });
    requireUnchanged(connection, { expectedUpdatedAt }, { type: 'McpServer', key: connection.id });
    const faults = settingFaults(given, connection.authType ?? 'stdio');
    const refused = [
      ...faults.map(({ field, message }): InputFault => ({ path: [field], code: 'CONFLICTING', message })),
      ...sharedFaults(given, connection.visibility),
    ];
    if (refused.length > 0) throw new ValidationError(refused);
    const changedFields = SETTINGS.filter(
      (name) => given[name] !== undefined && !isDeepStrictEqual(given[name], connection[name]),
    );
    if (changedFields.length === 0) return unchanged({ connection, changedFields });
    if (given.handle !== undefined && given.handle !== connection.handle)
      await changeHandle(context, connection, given.handle, reuseHandle);
    const changes = Object.fromEntries(changedFields.map((name) => [name, given[name]]));
    Object.assign(connection, changes, { updatedAt: now(), listVersion: connection.listVersion + 1 });
    return { connection, changedFields };
  },
  target: ({ connection, changedFields }, { toolPolicy, access, reuseHandle: _reuse, ...settings }) => ({
    ...targetOf(connection),
    changedFields,
    detail: newValues(
      { toolPolicy: toolPolicy?.mode, access: access?.mode, ...settings },
      changedFields.filter(hasFewValues),
    ),
  }),
  conflicts: { mcp_connection_handle_unique: ({ handle = '' }) => handleTaken(handle) },
  afterCommit: async ({ notifier }, { connection }) => {
    notifier.publish(mcpConnectionTopic(connection.id));
    return connection;
  },
});

const hasFewValues = (name: string) =>
  ['toolPolicy', 'access', 'onToolChange', 'recordToolCalls', 'allowMissingPkceMetadata'].includes(name);

/** Reserves the handle so far of a connection that gets another one. @throws ConflictError */
async function changeHandle(
  { em, now, newId }: OperationContext,
  connection: McpConnection,
  handle: string,
  isReused = false,
): Promise<void> {
  const { id: connectionId, organization, serverUrl = null } = connection;
  await lockHandles(em, organization.id);
  const place = { organizationId: organization.id, serverUrl, now: now() };
  await requireFreeHandle(em, { ...place, handle, isReused, connectionId, path: ['handle'] });
  if (handle.toLowerCase() !== connection.handle.toLowerCase())
    await reserveHandle(em, connection, { id: newId(), now: now() });
}
