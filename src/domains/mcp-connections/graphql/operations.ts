import { z } from 'zod';
import { builder } from '../../../core/graphql/builder.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/expected-version.ts';
import { ConflictError, type Fault, NotFoundError, RemoteFailedError } from '../../../core/errors.ts';
import { keyRule } from '../../../core/validation.ts';
import { mutation } from '../../../core/graphql/mutations.ts';
import { toGlobalId } from '../../../core/graphql/nodes.ts';
import { authorizeMcpConnection } from '../oauth/operations.ts';
import { createMcpConnectionInput, mcpConnectionReference, updateMcpConnectionInput } from '../input.ts';
import { testMcpConnection } from '../tool-operations.ts';
import { createMcpConnection, deleteMcpConnection, updateMcpConnection } from '../operations.ts';
import { connectionRow } from '../queries.ts';
import { AuthTypeEnum, RegistrationEnum, VisibilityEnum } from './enums.ts';
import { McpServerType } from './types.ts';
import { ServerInfoType } from './value-types.ts';

const NamedValueInput = builder.inputType('McpNamedValueInput', {
  description: 'A header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ required: true, description: 'At most 16384 characters; stored encrypted and never shown.' }),
  }),
});

const NamedChangeInput = builder.inputType('McpNamedChangeInput', {
  description: 'A change of a header or an environment variable.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 256 characters.' }),
    value: t.string({ description: 'The new value; null removes it.' }),
  }),
});

const StdioInput = builder.inputType('StdioMcpServerInput', {
  description: 'An MCP server that is started by a command. The command is stored and never run here.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    command: t.string({ required: true, description: '1 to 4096 characters.' }),
    args: t.stringList({ description: 'At most 100, each at most 8192 characters.' }),
    env: t.field({ type: [NamedValueInput], description: 'Environment variables.' }),
    visibility: t.field({
      type: VisibilityEnum,
      defaultValue: 'shared',
      description: 'Who sees it. Only an administrator creates shared ones.',
    }),
  }),
});

const RemoteInput = builder.inputType('RemoteMcpServerInput', {
  description: 'An MCP server that is reached over Streamable HTTP.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 200 characters.' }),
    serverUrl: t.field({ type: 'URL', required: true, description: 'http(s), without user information and fragment.' }),
    authType: t.field({ type: AuthTypeEnum, defaultValue: 'oauth', description: 'How it is authorized.' }),
    clientId: t.string({ description: '1 to 4096 characters; for a client that the owner registered.' }),
    clientSecret: t.string({ description: '1 to 65536 characters; stored encrypted and never shown.' }),
    headers: t.field({ type: [NamedValueInput], description: 'For `STATIC_HEADERS`.' }),
    oauthRegistration: t.field({ type: RegistrationEnum, description: 'For `OAUTH` alone; `AUTOMATIC` when absent.' }),
    scope: t.string({ description: '1 to 4096 characters: what to ask for; left to the server when absent.' }),
    visibility: t.field({
      type: VisibilityEnum,
      defaultValue: 'shared',
      description: 'Who sees it. Only an administrator creates shared ones.',
    }),
  }),
});

const NAMED_LISTS = new Set(['env', 'headers']);

/** Lists of names and values become the objects that REST takes. A name that is given twice cannot be one. */
function withRecords(given: unknown, context: z.RefinementCtx): unknown {
  if (typeof given !== 'object' || given === null) return given;
  return Object.fromEntries(
    Object.entries(given).map(([field, value]: [string, unknown]) => {
      if (!NAMED_LISTS.has(field) || !Array.isArray(value)) return [field, value];
      const pairs = (value as NamedValue[]).map((pair): [string, string | null] => [pair.name, pair.value ?? null]);
      const seen = new Set<string>();
      for (const [name] of pairs) {
        if (seen.has(name))
          context.addIssue({ code: 'custom', path: [field], ...keyRule(name, 'DUPLICATE', 'must not name one twice') });
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

/** Where a fault of a connection stands among the fields of this API, in which headers and variables are lists. */
function pathInFields({ path, key }: Fault, fields: object | undefined): readonly string[] {
  const [field = '', name = key] = path;
  if (field === 'mcpConnectionId') return ['mcpServerId'];
  if (!NAMED_LISTS.has(field) || name === undefined || !fields) return path;
  const list = (fields as Readonly<Record<string, readonly NamedValue[]>>)[field] ?? [];
  const index = list.findLastIndex((pair) => pair.name === name);
  return index < 0 ? [field] : [field, String(index), key === undefined ? 'value' : 'name'];
}

const IDS = { mcpServerId: 'McpServer' };
const id = 'Either id of the connection.';

/** `mcpServerId` in GraphQL is `mcpConnectionId` in REST. */
function withConnectionId(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('mcpServerId' in given)) return given;
  const { mcpServerId: mcpConnectionId, ...rest } = given;
  return { mcpConnectionId, ...rest };
}

const reference = z.preprocess(withConnectionId, mcpConnectionReference);
const authorizationUrl = {
  type: 'URL',
  nullable: true,
  description:
    'Where its user authorizes it, to be opened in a browser within 10 minutes; null when that is not needed.',
} as const;

mutation('createMcpServer', {
  access: createMcpConnection.access,
  callsOut: true,
  description:
    'Registers an MCP connection. A remote server is spoken to: it is connected, or its authorization begins; when it fails, nothing is left behind.',
  isOneOf: true,
  schema: z.preprocess((given, context) => {
    const { stdio, remote } = given as { stdio?: object; remote?: object };
    return stdio
      ? { ...(withRecords(stdio, context) as object), type: 'stdio' }
      : { ...(withRecords(remote, context) as object), type: 'remote' };
  }, createMcpConnectionInput),
  pathOf: (fault, input) => {
    const [kind = '', fields] = Object.entries(input)[0] ?? [];
    return fault.path.length === 0 ? [kind] : [kind, ...pathInFields(fault, fields as object)];
  },
  input: (t) => ({
    stdio: t.field({ type: StdioInput, description: 'A command, which is stored only.' }),
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
  description: 'Connects a remote connection with what is stored, or begins its authorization.',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: authorizeMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection.',
      resolve: ({ connection }) => connectionRow(connection),
    }),
    authorizationUrl: t.field({ ...authorizationUrl, resolve: (result) => result.authorizationUrl }),
  }),
});

mutation('testMcpServer', {
  access: testMcpConnection.access,
  callsOut: true,
  description: 'Asks a remote server whether it answers with what is stored, and notes the outcome in its status.',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  run: testMcpConnection,
  payload: (t) => ({
    mcpServer: t.field({
      type: McpServerType,
      description: 'The connection.',
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
    'Changes a connection; the server is not asked. A new `serverUrl` clears all credentials: nothing that was given for one server is shown to another.',
  schema: z.preprocess((given, context) => withConnectionId(withRecords(given, context)), updateMcpConnectionInput),
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({
    mcpServerId: t.id({ required: true, description: id }),
    name: t.string({ description: '1 to 200 characters; kept when absent.' }),
    command: t.string({ description: 'For stdio; kept when absent.' }),
    args: t.stringList({ description: 'For stdio; all of them; kept when absent.' }),
    env: t.field({ type: [NamedChangeInput], description: 'For stdio: merged by name.' }),
    serverUrl: t.field({ type: 'URL', description: 'For remote servers; kept when absent.' }),
    headers: t.field({ type: [NamedChangeInput], description: 'For `STATIC_HEADERS`: merged by name, case ignored.' }),
    clientId: t.string({ description: 'For `OAUTH` and `CLIENT_CREDENTIALS`; kept when absent.' }),
    clientSecret: t.string({ description: 'For `OAUTH` and `CLIENT_CREDENTIALS`; kept when absent.' }),
    scope: t.string({
      description: 'What to ask for at the next authorization; kept when absent, left to the server when null.',
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
    'Deletes a connection with all its secrets, and revokes its tokens where the authorization server offers that (RFC 7009).',
  schema: reference,
  ids: IDS,
  pathOf: pathInFields,
  input: (t) => ({ mcpServerId: t.id({ required: true, description: id }) }),
  errors: [NotFoundError],
  run: async (context, input) => ({ connection: await deleteMcpConnection(context, input) }),
  payload: (t) => ({
    deletedId: t.id({
      description: 'Global id of the connection that is gone.',
      resolve: ({ connection }) => toGlobalId('McpServer', connection.id),
    }),
  }),
});
