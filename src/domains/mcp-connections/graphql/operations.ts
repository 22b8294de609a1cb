import { z } from 'zod';
import { isObject } from '../../../core/is-object.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { ConflictError, type Fault, NotFoundError, RemoteFailedError } from '../../../core/errors.ts';
import { keyRule } from '../../../core/input/validation.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { authorizeMcpConnection } from '../oauth/operations.ts';
import { createMcpConnectionInput, mcpConnectionReference, updateMcpConnectionInput } from '../input.ts';
import { testMcpConnection } from '../tool-operations.ts';
import { createMcpConnection, deleteMcpConnection, updateMcpConnection } from '../operations.ts';
import { connectionRow } from '../queries.ts';
import { AuthTypeEnum, RegistrationEnum, VisibilityEnum } from './enums.ts';
import { McpServerType } from './types.ts';
import { ServerInfoType } from './value-types.ts';

const NamedValueInput = builder.inputType('McpNamedValueInput', {
  description: 'Name and value of a header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ required: true, description: 'At most 16384 characters; stored encrypted and never shown.' }),
  }),
});

const NamedChangeInput = builder.inputType('McpNamedChangeInput', {
  description: 'A change of a header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ description: 'The new value, at most 16384 characters. Null removes the header or variable.' }),
  }),
});

const StdioInput = builder.inputType('StdioMcpServerInput', {
  description: 'An MCP server that is started by a command. The gateway only stores the command and never runs it.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    command: t.string({ required: true, description: '1 to 4096 characters.' }),
    args: t.stringList({ description: 'Arguments of the command: at most 100, each of at most 8192 characters.' }),
    env: t.field({ type: [NamedValueInput], description: 'Environment variables. The names must be unique.' }),
    visibility: t.field({
      type: VisibilityEnum,
      defaultValue: 'shared',
      description: 'Who can see the connection. Only administrators can create shared connections.',
    }),
  }),
});

const RemoteInput = builder.inputType('RemoteMcpServerInput', {
  description: 'An MCP server that is reached over Streamable HTTP.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    serverUrl: t.field({
      type: 'URL',
      required: true,
      description:
        'Address of the server: http or https, at most 8192 characters, without user information and fragment.',
    }),
    authType: t.field({ type: AuthTypeEnum, defaultValue: 'oauth', description: 'How the server is authorized.' }),
    clientId: t.string({
      description:
        'OAuth client id of a client that the owner registered, 1 to 4096 characters. Required for `CLIENT_CREDENTIALS` and `PRE_REGISTERED`.',
    }),
    clientSecret: t.string({
      description:
        'OAuth client secret, 1 to 65536 characters; stored encrypted and never shown. Required for `CLIENT_CREDENTIALS`.',
    }),
    headers: t.field({
      type: [NamedValueInput],
      description: 'Headers for `STATIC_HEADERS`, which requires at least one. The names must be unique.',
    }),
    oauthRegistration: t.field({
      type: RegistrationEnum,
      description: 'Where the OAuth client comes from; only for `OAUTH`. When absent, `AUTOMATIC`.',
    }),
    scope: t.string({
      description:
        'OAuth scopes to request, separated by spaces; 1 to 4096 characters. When absent, the server decides.',
    }),
    visibility: t.field({
      type: VisibilityEnum,
      defaultValue: 'shared',
      description: 'Who can see the connection. Only administrators can create shared connections.',
    }),
  }),
});

const NAMED_LISTS = new Set(['env', 'headers']);

/** Converts lists of names and values to the objects that the schema expects, and refuses a name that is given twice. */
function withRecords(given: object, context: z.RefinementCtx): object {
  return Object.fromEntries(
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
}

interface NamedValue {
  readonly name: string;
  readonly value?: string | null;
}

/** Converts the path of a fault to the fields of this API, where headers and variables are lists. */
function pathInFields({ path, key }: Fault, fields: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const [field = '', name = key] = path;
  if (field === 'mcpConnectionId') return ['mcpServerId'];
  if (!NAMED_LISTS.has(field) || name === undefined || !fields) return path;
  const list = fields[field];
  const index = Array.isArray(list)
    ? list.findLastIndex((pair: unknown) => isObject(pair) && pair['name'] === name)
    : -1;
  return index < 0 ? [field] : [field, String(index), key === undefined ? 'value' : 'name'];
}

const IDS = { mcpServerId: 'McpServer' };
const id = '`id` or `databaseId` of the connection.';

/** `mcpServerId` in GraphQL is `mcpConnectionId` in REST. */
function withConnectionId(given: unknown): unknown {
  if (!isObject(given) || !('mcpServerId' in given)) return given;
  const { mcpServerId: mcpConnectionId, ...rest } = given;
  return { mcpConnectionId, ...rest };
}

const reference = z.preprocess(withConnectionId, mcpConnectionReference);
const authorizationUrl = {
  type: 'URL',
  nullable: true,
  description:
    'Address that the user must open in a browser within 10 minutes to authorize the connection. Null when no authorization by a user is needed.',
} as const;

mutation('createMcpServer', {
  access: createMcpConnection.access,
  callsOut: true,
  description:
    'Registers an MCP connection. The gateway calls a remote server at once, and either connects or starts an authorization; when the server fails, nothing is stored. Shared connections need the role `ADMIN`.',
  isOneOf: true,
  schema: z.preprocess((given, context) => {
    // Exactly one of the fields is given.
    const [type, fields] = (isObject(given) ? Object.entries(given)[0] : undefined) ?? [];
    return { ...(isObject(fields) && withRecords(fields, context)), type };
  }, createMcpConnectionInput),
  pathOf: (fault, input) => {
    const [kind = '', fields] = Object.entries(input)[0] ?? [];
    return fault.path.length === 0 ? [kind] : [kind, ...pathInFields(fault, isObject(fields) ? fields : undefined)];
  },
  input: (t) => ({
    stdio: t.field({ type: StdioInput, description: 'A server that is started by a command, which is only stored.' }),
    remote: t.field({ type: RemoteInput, description: 'A remote server.' }),
  }),
  errors: [ConflictError, RemoteFailedError],
  run: createMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The new connection.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
    authorizationUrl: t.field({ ...authorizationUrl, resolve: (result) => result.authorizationUrl }),
  }),
});

mutation('authorizeMcpServer', {
  access: authorizeMcpConnection.access,
  callsOut: true,
  description:
    'Connects a remote connection with the stored credentials, or starts a new authorization. Shared connections need the role `ADMIN`.',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: authorizeMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection with its new status.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
    authorizationUrl: t.field({ ...authorizationUrl, resolve: (result) => result.authorizationUrl }),
  }),
});

mutation('testMcpServer', {
  access: testMcpConnection.access,
  callsOut: true,
  description:
    'Tests whether a remote server accepts the stored credentials, and updates the status of the connection.',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: testMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection with its new status.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
    info: t.field({
      type: ServerInfoType,
      description: 'The name and versions that the server answered with.',
      resolve: ({ info }) => info,
    }),
  }),
});

mutation('updateMcpServer', {
  access: updateMcpConnection.access,
  description:
    'Changes a connection without calling the server. A new `serverUrl` deletes all credentials, so that they are never sent to another server. Shared connections need the role `ADMIN`.',
  schema: z.preprocess(
    (given, context) => (isObject(given) ? withConnectionId(withRecords(given, context)) : given),
    updateMcpConnectionInput,
  ),
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({
    mcpServerId: t.id({ required: true, description: id }),
    name: t.string({ description: '1 to 200 characters; unchanged when absent.' }),
    command: t.string({ description: 'Only for stdio: 1 to 4096 characters; unchanged when absent.' }),
    args: t.stringList({
      description:
        'Only for stdio: all arguments, at most 100, each of at most 8192 characters; unchanged when absent.',
    }),
    env: t.field({
      type: [NamedChangeInput],
      description: 'Only for stdio: environment variables to set or remove. Others do not change.',
    }),
    serverUrl: t.field({
      type: 'URL',
      description: 'Only for remote servers: at most 8192 characters; unchanged when absent.',
    }),
    headers: t.field({
      type: [NamedChangeInput],
      description: 'Only for `STATIC_HEADERS`: headers to set or remove, by name without case. Others do not change.',
    }),
    clientId: t.string({
      description: 'Only for `OAUTH` and `CLIENT_CREDENTIALS`: 1 to 4096 characters; unchanged when absent.',
    }),
    clientSecret: t.string({
      description: 'Only for `OAUTH` and `CLIENT_CREDENTIALS`: 1 to 65536 characters; unchanged when absent.',
    }),
    scope: t.string({
      description:
        'OAuth scopes to request at the next authorization, 1 to 4096 characters; unchanged when absent. Null lets the server decide.',
    }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input) => ({ connection: await updateMcpConnection(context, input) }),
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The changed connection.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
  }),
});

mutation('deleteMcpServer', {
  access: deleteMcpConnection.access,
  callsOut: true,
  description:
    'Deletes a connection with all its secrets, and revokes its tokens if the authorization server supports that (RFC 7009). Shared connections need the role `ADMIN`.',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ connection: await deleteMcpConnection(context, input) }),
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the deleted connection.',
      resolve: ({ connection }) => toGlobalId('McpServer', connection.id),
    }),
  }),
});
