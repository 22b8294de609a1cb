import type { McpConnectionId } from '../../core/ids.ts';
import { enumValue, wording } from '../../core/text/wording.ts';
import { z } from 'zod';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { isObject } from '../../core/is-object.ts';
import { listInput } from '../../core/input/lists.ts';
import { createdBetween } from '../../core/input/moments.ts';
import {
  idSchema,
  notKnown,
  httpUri,
  keyRule,
  optional,
  rule,
  text,
  withDefault,
} from '../../core/input/validation.ts';
import { AUTH_TYPES, type AuthType, OAUTH_REGISTRATIONS, TYPES, VISIBILITIES, type Visibility } from './entity.ts';
import { STATUSES } from './status.ts';
import { type NewSettings, newSettings, settingFaults, sharedFaults } from './settings-input.ts';
import { MCP_CONNECTION_TEXTS as TEXTS } from './texts.ts';

const name = text({ min: 1, max: 200 });
const command = text({ min: 1, max: 4096 });
const args = z.array(text({ max: 8192 })).max(100);
const clientId = text({ min: 1, max: 4096 });
const clientSecret = text({ min: 1, max: 65_536 });
const scope = text({ min: 1, max: 4096 }).regex(
  /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/,
  'must be scope tokens joined by single spaces (RFC 6749, section 3.3)',
);

const serverUrl = httpUri({ max: 8192 }).refine(
  (value) => !value.includes('#'),
  rule('BAD_FORMAT', 'must not contain a fragment'),
);

/** RFC 9110, section 5.1: a field name is a token. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that the transport writes itself, and hop-by-hop headers (RFC 9110, sections 7.6 and 8). */
const TRANSPORT_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Maximum number of environment variables, and of headers, of a connection. */
export const MAX_NAMES = 200;
const nameOfValue = text({ min: 1, max: 256 });

type KeyFault = ReturnType<typeof keyRule>;
type FieldFault = ReturnType<typeof rule>;

/** An object with at most 200 names of 1 to 256 characters. `__proto__` is refused, because a plain object would lose it silently. */
function named<Value extends z.core.$ZodType<string | null>>(
  value: Value,
  faultOf: (key: string) => KeyFault | undefined,
) {
  const record = z.record(nameOfValue, value);
  return z.preprocess((given, context) => {
    if (!isObject(given)) return given;
    const keys = Object.keys(given);
    if (keys.length > MAX_NAMES) {
      context.addIssue({ code: 'custom', ...rule('TOO_MANY', `must have at most ${MAX_NAMES} names`, MAX_NAMES) });
      return z.NEVER;
    }
    const seen = new Set<string>();
    for (const key of keys) {
      const fault =
        key === '__proto__'
          ? keyRule(key, 'NOT_ALLOWED', 'is not an allowed name')
          : (faultOf(key) ??
            (seen.has(key.toLowerCase()) && faultOf !== noFault
              ? keyRule(key, 'DUPLICATE', 'is given twice, in different case')
              : undefined));
      if (fault) context.issues.push({ code: 'custom', input: given, path: [key], ...fault });
      seen.add(key.toLowerCase());
    }
    return given;
  }, record);
}

const noFault = (): undefined => undefined;

function headerFault(key: string): KeyFault | undefined {
  if (key.length < 1 || key.length > 256) return undefined;
  if (!HEADER_NAME.test(key)) return keyRule(key, 'BAD_FORMAT', 'must be a name of an HTTP header');
  return TRANSPORT_HEADERS.has(key.toLowerCase())
    ? keyRule(key, 'NOT_ALLOWED', 'is set by the transport and cannot be given')
    : undefined;
}

const envValue = text({ max: 16_384 });
const headerValue = envValue.regex(
  /^[\t\x20-\x7E\x80-\xFF]*$/,
  'must be printable characters of ISO 8859-1, without line breaks',
);
/** An item of a list of headers or variables, which GraphQL has in place of an object. */
export const namedValue = z
  .strictObject({
    name: nameOfValue.describe('The name.'),
    value: envValue.describe('The value, which is stored encrypted and never shown.'),
  })
  .describe('Name and value of a header or an environment variable.');
export const namedChange = z
  .strictObject({
    name: nameOfValue.describe('The name.'),
    value: envValue.nullish().describe('The new value. Null removes the header or variable.'),
  })
  .describe('A change of a header or an environment variable.');

const env = named(envValue, noFault);
const headers = named(headerValue, headerFault);

/** The message for unknown fields names the branch of the union that the input was read as. */
const knownOf = (type: string) => ({ error: (issue: z.core.$ZodRawIssue) => notKnown(issue, ` of type ${type}`) });
const requiredBy = <Schema extends z.ZodString>(type: string, schema: Schema): Schema =>
  schema.clone(
    {
      ...schema.def,
      error: ({ input }) => (input === undefined ? `is required for type ${type}` : undefined),
    },
    { parent: true },
  );

const stdioFields = {
  name: requiredBy('stdio', name).describe(TEXTS.name),
  command: requiredBy('stdio', command).describe('The command that starts the server.'),
  args: withDefault(args, []).describe('Arguments of the command.'),
  env: optional(env).describe(
    'Environment variables by name, at most 200. Values are stored encrypted and never shown.',
  ),
  visibility: withDefault(z.enum(VISIBILITIES), 'shared').describe(TEXTS.visibility),
};
const remoteFields = {
  name: requiredBy('remote', name).describe(TEXTS.name),
  serverUrl: requiredBy('remote', serverUrl).describe(
    'Address of the server: http or https, without user information and fragment.',
  ),
  authType: withDefault(z.enum(AUTH_TYPES), 'oauth').describe('How requests to the server are authenticated.'),
  clientId: optional(clientId).describe(
    'Id of an OAuth client that the owner has registered. Required for client credentials, and for a pre-registered client.',
  ),
  clientSecret: optional(clientSecret).describe(
    'Secret of the OAuth client. It is stored encrypted and never shown. Required for client credentials.',
  ),
  headers: optional(headers).describe(
    'Headers of every request by name, at most 200; at least one for static headers. Values are stored encrypted and never shown.',
  ),
  oauthRegistration: optional(z.enum(OAUTH_REGISTRATIONS)).describe(
    'How the OAuth client is registered; only for OAuth. When absent, as the server allows.',
  ),
  scope: optional(scope).describe(
    'The OAuth scope to ask for, tokens joined by single spaces. When absent, what the server asks for.',
  ),
  visibility: withDefault(z.enum(VISIBILITIES), 'shared').describe(TEXTS.visibility),
};

/** Only GraphQL accepts it: the documented REST body has no field for settings. */
const settings = optional(newSettings).describe('Settings of the connection. When absent, each has its default.');
/** What GraphQL takes for each type, in place of `type`. */
export const stdioServer = z
  .strictObject({ ...stdioFields, settings })
  .describe('An MCP server that is started by a command. The gateway only stores the command and never runs it.');
export const remoteServer = z
  .strictObject({ ...remoteFields, settings })
  .describe('An MCP server that is reached over Streamable HTTP.');

type AuthField = 'clientId' | 'clientSecret' | 'headers' | 'oauthRegistration' | 'scope';
const FIELDS_OF: Readonly<Record<(typeof AUTH_TYPES)[number], readonly AuthField[]>> = {
  oauth: ['clientId', 'clientSecret', 'oauthRegistration', 'scope'],
  client_credentials: ['clientId', 'clientSecret', 'scope'],
  static_headers: ['headers'],
};

/** The faults for fields that the authType requires, and for fields of another authType. */
function authFaults(
  given: Partial<Record<AuthField, unknown>> & { authType: (typeof AUTH_TYPES)[number] },
): [AuthField, FieldFault][] {
  const { authType } = given;
  const fields: readonly AuthField[] = ['clientId', 'clientSecret', 'headers', 'oauthRegistration', 'scope'];
  const strange = fields.filter((field) => given[field] !== undefined && !FIELDS_OF[authType].includes(field));
  const needed: readonly AuthField[] =
    authType === 'client_credentials'
      ? ['clientId', 'clientSecret']
      : authType === 'static_headers'
        ? ['headers']
        : given.oauthRegistration === 'pre_registered'
          ? ['clientId']
          : [];
  const why =
    authType === 'oauth'
      ? wording`oauthRegistration ${enumValue('pre_registered')}`
      : wording`authType ${enumValue(authType)}`;
  const faults: [AuthField, FieldFault][] = [];
  for (const field of strange)
    faults.push([field, rule('CONFLICTING', wording`must not be given with authType ${enumValue(authType)}`)]);
  for (const field of needed)
    if (given[field] === undefined) faults.push([field, rule('REQUIRED', wording`is required for ${why}`)]);
  if (authType === 'static_headers' && given.headers && Object.keys(given.headers).length === 0)
    faults.push(['headers', rule('TOO_FEW', 'must name at least one header', 1)]);
  const isNamed = given.clientId !== undefined || given.oauthRegistration === 'pre_registered';
  if (authType === 'oauth' && given.clientSecret !== undefined && !isNamed)
    faults.push(['clientId', rule('REQUIRED', 'is required with clientSecret')]);
  return faults;
}

const WHICH = 'Which of the two forms this is.';
const STDIO = { type: z.literal('stdio').describe(WHICH) };
const REMOTE = { type: z.literal('remote').default('remote').describe(WHICH) };
const SHAPES = 'One of two shapes, selected by `type`; without `type` it is `remote`.';

/** With oauth a given `clientId` is always used, for both values of `oauthRegistration`. */
export const createMcpConnectionWithSettingsInput = z.preprocess(
  withType,
  z.discriminatedUnion('type', [
    z.strictObject({ ...STDIO, ...stdioServer.shape }, knownOf('stdio')).superRefine(refuseStrangeSettings),
    z
      .strictObject({ ...REMOTE, ...remoteServer.shape }, knownOf('remote'))
      .superRefine(refuseAuthFaults)
      .superRefine(refuseStrangeSettings),
  ]),
);
export type CreateMcpConnectionInput = z.output<typeof createMcpConnectionWithSettingsInput>;
export type StdioInput = Extract<CreateMcpConnectionInput, { type: 'stdio' }>;
export type RemoteInput = Extract<CreateMcpConnectionInput, { type: 'remote' }>;

/** The documented input, which REST takes. */
export const createMcpConnectionInput: z.core.$ZodType<CreateMcpConnectionInput> = z.preprocess(
  withType,
  z
    .discriminatedUnion('type', [
      z.strictObject({ ...STDIO, ...stdioFields }, knownOf('stdio')),
      z.strictObject({ ...REMOTE, ...remoteFields }, knownOf('remote')).superRefine(refuseAuthFaults),
    ])
    .describe(SHAPES),
);

function withType(given: unknown, context: z.RefinementCtx): unknown {
  if (!isObject(given)) return given;
  const type = given['type'] ?? 'remote';
  if (type !== 'stdio' && type !== 'remote')
    context.addIssue({ code: 'custom', path: ['type'], ...rule('NOT_ALLOWED', 'must be "stdio" or "remote"') });
  return { ...given, type };
}

function refuseAuthFaults(connection: Parameters<typeof authFaults>[0], context: z.RefinementCtx): void {
  for (const [field, fault] of authFaults(connection)) context.addIssue({ code: 'custom', path: [field], ...fault });
}

function refuseStrangeSettings(
  {
    settings: given,
    ...connection
  }: {
    readonly settings?: NewSettings | undefined;
    readonly authType?: AuthType;
    readonly visibility: Visibility;
  },
  context: z.RefinementCtx,
): void {
  for (const { field, message } of settingFaults(given, connection.authType ?? 'stdio'))
    context.addIssue({ code: 'custom', path: ['settings', field], ...rule('CONFLICTING', message) });
  for (const { path, code, message } of sharedFaults(given, connection.visibility))
    context.addIssue({ code: 'custom', path: ['settings', ...path], ...rule(code, message) });
}

const mcpConnectionId = idSchema<McpConnectionId>().describe(TEXTS.id);
export const mcpConnectionReference = z.strictObject({ mcpConnectionId });
export type McpConnectionReference = z.output<typeof mcpConnectionReference>;

/**
 * An absent field does not change. Headers and variables are merged by name; null removes one. Fields of the other type
 * or of another authType are refused, except when they are null as in answers.
 */
export const updateMcpConnectionInput = z.strictObject({
  mcpConnectionId,
  name: name.optional().describe(TEXTS.name),
  command: command.nullable().optional().describe('The command that starts the server; only for stdio.'),
  args: args.nullable().optional().describe('All arguments of the command; only for stdio.'),
  env: named(envValue.nullable(), noFault)
    .optional()
    .describe('Environment variables to set by name; null removes one. Others do not change. Only for stdio.'),
  serverUrl: serverUrl
    .nullable()
    .optional()
    .describe('Address of the server: http or https, without user information and fragment; only for remote servers.'),
  headers: named(headerValue.nullable(), headerFault)
    .optional()
    .describe(
      'Headers to set by name, whose case is ignored; null removes one. Others do not change. Only for static headers.',
    ),
  clientId: clientId.optional().describe('Id of the OAuth client; only for OAuth and client credentials.'),
  clientSecret: clientSecret
    .optional()
    .describe(
      'Secret of the OAuth client; only for OAuth and client credentials. It is stored encrypted and never shown.',
    ),
  scope: scope
    .nullable()
    .optional()
    .describe(
      'The OAuth scope to ask for at the next authorization, tokens joined by single spaces. Null lets the server decide.',
    ),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
export type UpdateMcpConnectionInput = z.output<typeof updateMcpConnectionInput>;

export const acceptToolDefinitionsInput = z.strictObject({
  mcpConnectionId,
  names: z
    .array(text({ min: 1, max: 10_000 }))
    .min(1)
    .max(2000)
    .describe('Names of tools that the server lists.'),
});

/** Null is the same as absent. */
export const mcpConnectionFilter = z
  .strictObject({
    types: z.array(z.enum(TYPES)).max(100).nullish().describe('Of any of these types.'),
    visibilities: z.array(z.enum(VISIBILITIES)).max(100).nullish().describe('With any of these visibilities.'),
    statuses: z.array(z.enum(STATUSES)).max(100).nullish().describe('With any of these statuses.'),
    search: text({ max: 200 })
      .nullish()
      .describe('Whose name contains this text. Case is ignored; there are no wildcards.'),
    ...createdBetween,
  })
  .describe(
    'Conditions on MCP connections. A connection is listed when it meets all of them. A condition with an empty list matches nothing.',
  );
export type McpConnectionFilter = z.output<typeof mcpConnectionFilter>;

/** Query parameters of the REST list. */
export const listMcpConnectionsInput = z.strictObject({
  ...listInput,
  type: z.enum(TYPES).optional().describe('Lists only connections of this type.'),
  visibility: z.enum(VISIBILITIES).optional().describe('Lists only connections with this visibility.'),
});
