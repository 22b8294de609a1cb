import { z } from 'zod';
import { isObject } from '../../../core/is-object.ts';
import { inputType } from '../../../core/graphql/derived-inputs.ts';
import type { Fault } from '../../../core/errors.ts';
import { keyRule } from '../../../core/input/validation.ts';
import { type PayloadFields, deleted, mutation, one } from '../../../core/graphql/mutations.ts';
import { type ConnectionResult, authorizeMcpConnection } from '../authorization/operations.ts';
import {
  createMcpConnectionWithSettingsInput,
  namedChange,
  namedValue,
  remoteServer,
  stdioServer,
  updateMcpConnectionInput,
} from '../input.ts';
import { TOOL_COLUMNS, acceptMcpToolDefinitions, testMcpConnection } from '../tool-operations.ts';
import { createMcpConnection, deleteMcpConnection, updateMcpConnection } from '../operations.ts';
import { type McpConnectionRow, connectionRow } from '../queries.ts';
import { type ToolAccess, previewToolAccess } from '../access-preview.ts';
import { CALLS_OUT, OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { needs } from '../../../core/graphql/selection.ts';
import { ActorType, resolveActor } from '../../organizations/graphql/actors.ts';
import { access, newSettings, toolPolicy, toolRule, updateMcpConnectionSettingsInput } from '../settings-input.ts';
import { withPlainIds } from '../../../core/graphql/global-ids.ts';
import { updateMcpConnectionSettings } from '../settings-operations.ts';
import { ToolChangeEnum } from './enums.ts';
import { McpServerType } from './types.ts';
import { ServerInfoType } from './value-types.ts';

inputType('McpToolPolicyInput', toolPolicy);
const GROUPS = { groupIds: 'Group' };
const APPROVERS = { approverGroupIds: 'Group' };
const AccessInput = inputType('McpServerAccessInput', access, { ids: GROUPS });
const RuleInput = inputType('McpToolRuleInput', toolRule, { ids: GROUPS });
inputType('McpServerSettingsInput', newSettings, { ids: APPROVERS });

/** Replaces global ids of groups within settings by plain ones. */
const withPlainGroups = (settings: unknown): unknown =>
  isObject(settings)
    ? {
        ...(withPlainIds(settings, APPROVERS) as object),
        ...('access' in settings && { access: withPlainIds(settings['access'], GROUPS) }),
        ...(Array.isArray(settings['toolRules']) && {
          toolRules: settings['toolRules'].map((rule) => withPlainIds(rule, GROUPS)),
        }),
      }
    : settings;

const NamedValueInput = inputType('McpNamedValueInput', namedValue);
const NamedChangeInput = inputType('McpNamedChangeInput', namedChange);

const StdioInput = inputType('StdioMcpServerInput', stdioServer, { lists: { env: NamedValueInput } });
const RemoteInput = inputType('RemoteMcpServerInput', remoteServer, { lists: { headers: NamedValueInput } });

const NAMED_LISTS = new Set(['env', 'headers']);

/** Converts lists of names and values to the objects that the schema expects, and refuses a name that is given twice. */
const withRecords = (given: object, context: z.RefinementCtx): object =>
  Object.fromEntries(
    Object.entries(given).map(([field, value]: [string, unknown]) => {
      if (!NAMED_LISTS.has(field) || !Array.isArray(value)) return [field, value];
      const pairs = (value as NamedValue[]).map((pair): [string, string | null] => [pair.name, pair.value ?? null]);
      const seen = new Set<string>();
      for (const [name] of pairs) {
        if (seen.has(name))
          context.addIssue({
            code: 'custom',
            path: [field],
            ...keyRule(name, 'DUPLICATE', 'must not contain a name twice'),
          });
        seen.add(name);
      }
      return [field, Object.fromEntries(pairs)];
    }),
  );

interface NamedValue {
  readonly name: string;
  readonly value?: string | null;
}

/** Converts the path of a fault to the fields of this API, where headers and variables are lists. */
function pathInFields({ path, key }: Fault, fields: unknown): readonly string[] | undefined {
  const [field = '', name = key] = path;
  if (!NAMED_LISTS.has(field) || name === undefined || !isObject(fields)) return undefined;
  const list = fields[field];
  const index = Array.isArray(list)
    ? list.findLastIndex((pair: unknown) => isObject(pair) && pair['name'] === name)
    : -1;
  return index < 0 ? [field] : [field, String(index), key === undefined ? 'value' : 'name'];
}

const CONNECTION = { names: { mcpConnectionId: 'mcpServerId' }, ids: { mcpConnectionId: 'McpServer' } };

/** The payload of a mutation that creates or authorizes a connection. */
const resultFields = (t: PayloadFields<ConnectionResult>, mcpServer: string) => ({
  mcpServer: t.field({
    type: McpServerType,
    description: mcpServer,
    resolve: ({ connection }) => connectionRow(connection),
  }),
  authorizationUrl: t.expose('authorizationUrl', {
    type: 'URL',
    nullable: true,
    description:
      'Address that the user must open in a browser within 10 minutes to authorize the connection. Null when no authorization by a user is needed, as by a server that works without authorization: then the connection is `CONNECTED`, and its `issuer` is null.',
  }),
});

mutation(createMcpConnection, {
  name: 'createMcpServer',
  isOneOf: true,
  schema: z.preprocess((given, context) => {
    // Exactly one of the fields is given.
    const [type, fields] = (isObject(given) ? Object.entries(given)[0] : undefined) ?? [];
    if (!isObject(fields)) return { type };
    const settings = 'settings' in fields && { settings: withPlainGroups(fields['settings']) };
    return { ...withRecords(fields, context), ...settings, type };
  }, createMcpConnectionWithSettingsInput),
  pathOf: (fault, input) => {
    const [kind = '', fields] = Object.entries(input)[0] ?? [];
    return [kind, ...(pathInFields(fault, fields) ?? fault.path)];
  },
  fields: (t) => ({
    stdio: t.field({ type: StdioInput, description: 'A server that is started by a command, which is only stored.' }),
    remote: t.field({ type: RemoteInput, description: 'A remote server.' }),
  }),
  payload: (t) => resultFields(t, 'The new connection.'),
});

mutation(authorizeMcpConnection, {
  ...CONNECTION,
  name: 'authorizeMcpServer',
  payload: (t) => resultFields(t, 'The connection with its new status.'),
});

mutation(testMcpConnection, {
  ...CONNECTION,
  name: 'testMcpServer',
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection with its new status.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
    info: t.expose('info', {
      type: ServerInfoType,
      description: 'The name and versions that the server answered with.',
    }),
  }),
});

mutation(updateMcpConnection, {
  ...CONNECTION,
  name: 'updateMcpServer',
  schema: z.preprocess(
    (given, context) => (isObject(given) ? withRecords(given, context) : given),
    updateMcpConnectionInput,
  ),
  pathOf: pathInFields,
  lists: { env: NamedChangeInput, headers: NamedChangeInput },
  payload: one('mcpServer', McpServerType, 'The changed connection.', connectionRow),
});

mutation(updateMcpConnectionSettings, {
  ...CONNECTION,
  ids: { ...CONNECTION.ids, ...APPROVERS },
  name: 'updateMcpServerSettings',
  schema: z.preprocess(withPlainGroups, updateMcpConnectionSettingsInput),
  payload: one('mcpServer', McpServerType, 'The connection with its new settings.', connectionRow),
});

mutation(acceptMcpToolDefinitions, {
  ...CONNECTION,
  payload: one('mcpServer', McpServerType, 'The connection.', connectionRow),
});

mutation(deleteMcpConnection, {
  ...CONNECTION,
  name: 'deleteMcpServer',
  payload: deleted('McpServer', 'deleted connection'),
});

const ToolAccessType = builder.objectRef<ToolAccess>('McpToolAccess').implement({
  description: 'Accounts that could do the same with the tools of a connection.',
  fields: (t) => ({
    accounts: t.field({
      type: [ActorType],
      description: 'The people and service accounts.',
      extensions: OWN_STATEMENT,
      resolve: async ({ accountIds }, _, context, info) => {
        const rows = await Promise.all(accountIds.map(async (id) => resolveActor(context, info, id)));
        return rows.filter((row) => row !== null);
      },
    }),
    allowed: t.stringList({ description: 'Tools that they could call.', resolve: ({ allowed }) => [...allowed] }),
    asked: t.stringList({
      description: 'Tools that they could call with an approval. They could call no others.',
      resolve: ({ asked }) => [...asked],
    }),
  }),
});

builder.objectField(McpServerType, 'toolAccess', (t) =>
  t.field({
    type: [ToolAccessType],
    nullable: true,
    description:
      'Who could call what, by settings that need not be stored: of the first 1000 accounts, those that could do the same together. Null for a caller who cannot change the connection.',
    args: {
      access: t.arg({ type: AccessInput, description: 'When absent, as it is stored.' }),
      toolRules: t.arg({ type: [RuleInput], description: 'When absent, as they are stored.' }),
      onToolChange: t.arg({ type: ToolChangeEnum, description: 'When absent, as it is stored.' }),
    },
    extensions: { ...CALLS_OUT, ...needs<McpConnectionRow>(...TOOL_COLUMNS, 'ownerId') },
    resolve: async (row, given, context) => {
      const found = await previewToolAccess(context, row, withPlainGroups(given) as object);
      return found && [...found];
    },
  }),
);
