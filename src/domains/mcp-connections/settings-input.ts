import { z } from 'zod';
import type { GroupId, McpConnectionId } from '../../core/ids.ts';
import { expectedUpdatedAtInput } from '../../core/input/expected-version.ts';
import { idSchema, optional, text, withDefault } from '../../core/input/validation.ts';
import { type Message, enumValue, wording } from '../../core/text/wording.ts';
import type { InputFault } from '../../core/errors.ts';
import {
  ACCESS_MODES,
  type AuthType,
  type ConnectionAccess,
  type ToolRule,
  TOOL_CALL_RECORDINGS,
  TOOL_CHANGES,
  TOOL_EFFECTS,
  TOOL_POLICY_MODES,
  type Visibility,
} from './entity.ts';
import { HANDLE_MAX_LENGTH } from './connection-handle.ts';
import {
  ACCESS_TEXTS,
  MCP_CONNECTION_TEXTS,
  SETTINGS_TEXTS as TEXTS,
  TOOL_POLICY_TEXTS,
  TOOL_RULE_TEXTS,
} from './texts.ts';

/** No `__`, and no `_` at an end, so that `<handle>__<tool>` has one handle. */
const handle = text({ min: 1, max: HANDLE_MAX_LENGTH }).regex(
  /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/,
  'must be letters, digits, hyphens, and single underscores between them',
);

export const toolPolicy = z
  .strictObject({
    mode: z.enum(TOOL_POLICY_MODES).describe(TOOL_POLICY_TEXTS.mode),
    names: withDefault(
      z
        .array(text({ min: 1, max: 1000 }))
        .max(2000)
        .overwrite((names) => [...new Set(names)]),
      [],
    ).describe(TOOL_POLICY_TEXTS.names),
  })
  .describe(TEXTS.toolPolicy);

const givenGroupIds = z
  .array(idSchema<GroupId>(z.uuid().toLowerCase()))
  .max(200)
  .overwrite((ids) => [...new Set(ids)]);
const groupIds = withDefault(givenGroupIds, []);

export const access = z
  .strictObject({
    mode: z.enum(ACCESS_MODES).describe(ACCESS_TEXTS.mode),
    groupIds: groupIds.describe(ACCESS_TEXTS.groupIds),
  })
  .describe(TEXTS.access);

export const toolRule = z
  .strictObject({
    tools: z
      .array(text({ min: 1, max: 1000 }))
      .min(1)
      .max(200)
      .describe(TOOL_RULE_TEXTS.tools),
    groupIds: groupIds.describe(TOOL_RULE_TEXTS.groupIds),
    effect: z.enum(TOOL_EFFECTS).describe(TOOL_RULE_TEXTS.effect),
  })
  .describe('A rule for tools of a connection.');
export const toolRules = z.array(toolRule).max(50);

export const onToolChange = z.enum(TOOL_CHANGES);
const recordToolCalls = z.enum(TOOL_CALL_RECORDINGS);
const audience = text({ min: 1, max: 4096 });
/** Empty when none is sent, which some authorization servers want. */
const resource = text({ max: 8192 }).regex(
  /^(?:[A-Za-z][A-Za-z0-9+.-]*:[\x21\x22\x24-\x7E]+)?$/,
  'must be an absolute URI without a fragment (RFC 8707), or empty',
);

const reuseHandle = optional(z.boolean()).describe(
  'Gives a handle that another connection had in the last 30 days to this one, although agents may still call tools by it. Only for administrators.',
);

export const newSettings = z
  .strictObject({
    handle: optional(handle).describe(`${TEXTS.handle} When absent, it is made from the name.`),
    reuseHandle,
    toolPolicy: optional(toolPolicy).describe(TEXTS.toolPolicy),
    access: optional(access).describe(`${TEXTS.access} When absent, everybody.`),
    toolRules: withDefault(toolRules, []).describe(TEXTS.toolRules),
    approverGroupIds: groupIds.describe(TEXTS.approverGroupIds),
    onToolChange: withDefault(onToolChange, 'ALLOW').describe(TEXTS.onToolChange),
    recordToolCalls: withDefault(recordToolCalls, 'ALL').describe(TEXTS.recordToolCalls),
    audience: optional(audience).describe(TEXTS.audience),
    resource: optional(resource).describe(TEXTS.resource),
    allowMissingPkceMetadata: withDefault(z.boolean(), false).describe(TEXTS.allowMissingPkceMetadata),
  })
  .describe('Settings of a new MCP connection.');
export type NewSettings = z.output<typeof newSettings>;

type AuthorizationSetting = 'audience' | 'resource' | 'allowMissingPkceMetadata';
/** Settings of the authorization that mean something for a connection. */
const AUTHORIZATION_SETTINGS: Readonly<Record<AuthType | 'stdio', readonly AuthorizationSetting[]>> = {
  oauth: ['audience', 'resource', 'allowMissingPkceMetadata'],
  client_credentials: ['audience', 'resource'],
  static_headers: [],
  stdio: [],
};

/** Settings that mean nothing for the connection, with the fault of each. Their defaults are accepted, because answers contain them. */
export function settingFaults(
  given: { readonly [name in AuthorizationSetting]?: string | boolean | null | undefined } = {},
  kind: AuthType | 'stdio',
): { readonly field: AuthorizationSetting; readonly message: Message }[] {
  const message =
    kind === 'stdio'
      ? 'must not be given for a stdio connection'
      : wording`must not be given with authType ${enumValue(kind)}`;
  return AUTHORIZATION_SETTINGS.oauth
    .filter((field) => given[field] != null && given[field] !== false && !AUTHORIZATION_SETTINGS[kind].includes(field))
    .map((field) => ({ field, message }));
}

/** Settings that only shared connections can have, with the fault of each. */
export const sharedFaults = (
  { access: given, toolRules: rules = [] }: SharedSettings = {},
  visibility: Visibility,
): InputFault[] => {
  if (visibility !== 'personal') return [];
  const asking = rules.findIndex(({ effect }) => effect === 'ASK');
  const refused = (message: string, ...path: string[]): InputFault => ({ path, code: 'NOT_ALLOWED', message });
  return [
    ...(given?.mode === 'GROUPS'
      ? [refused('must be for all: a personal connection is used by its owner alone', 'access')]
      : []),
    ...(asking === -1
      ? []
      : [refused('must not be ASK: nobody else sees a personal connection', 'toolRules', String(asking), 'effect')]),
  ];
};

interface SharedSettings {
  readonly access?: ConnectionAccess | undefined;
  readonly toolRules?: readonly ToolRule[] | undefined;
}

/** The groups that settings name, each with its field. */
export function groupsIn(
  { access: given, toolRules: rules = [], approverGroupIds = [] }: Pick<Partial<NewSettings>, NamingGroups> = {},
  path = '',
): Map<GroupId, string> {
  const named = [
    [`${path}access.groupIds`, given?.groupIds ?? []] as const,
    [`${path}approverGroupIds`, approverGroupIds] as const,
    ...rules.map(({ groupIds: ids }, index) => [`${path}toolRules.${index}.groupIds`, ids] as const),
  ];
  return new Map(named.flatMap(([field, ids]) => ids.map((id, index) => [id, `${field}.${index}`] as const)));
}
type NamingGroups = 'access' | 'toolRules' | 'approverGroupIds';

/** An absent field does not change; null clears a nullable field. */
export const updateMcpConnectionSettingsInput = z.strictObject({
  mcpConnectionId: idSchema<McpConnectionId>().describe(MCP_CONNECTION_TEXTS.id),
  handle: handle.optional().describe(TEXTS.handle),
  reuseHandle,
  toolPolicy: toolPolicy.optional().describe(TEXTS.toolPolicy),
  access: access.optional().describe(TEXTS.access),
  toolRules: toolRules.optional().describe(TEXTS.toolRules),
  approverGroupIds: givenGroupIds.optional().describe(TEXTS.approverGroupIds),
  onToolChange: onToolChange.optional().describe(TEXTS.onToolChange),
  recordToolCalls: recordToolCalls.optional().describe(TEXTS.recordToolCalls),
  audience: audience.nullable().optional().describe(TEXTS.audience),
  resource: resource.nullable().optional().describe(TEXTS.resource),
  allowMissingPkceMetadata: z.boolean().optional().describe(TEXTS.allowMissingPkceMetadata),
  expectedUpdatedAt: expectedUpdatedAtInput,
});
