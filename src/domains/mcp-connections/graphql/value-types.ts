import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { keyOfText, toGlobalId } from '../../../core/graphql/global-ids.ts';
import type { ConnectionAccess, ToolPolicy, ToolRule } from '../entity.ts';
import type { ServerInfo } from '../remote/client.ts';
import type { ConnectionTool } from '../tool-operations.ts';
import { ACCESS_TEXTS, SETTINGS_TEXTS, TOOL_POLICY_TEXTS, TOOL_RULE_TEXTS } from '../texts.ts';
import { AccessModeEnum, DefinitionStateEnum, ToolEffectEnum, ToolPolicyModeEnum } from './enums.ts';

/** Types for answers of MCP servers. */

const DefinitionType = builder.objectRef<ConnectionTool['definition']>('McpToolDefinition').implement({
  description:
    'What the server says of a tool: name, title, description, schemas and annotations; and what was accepted of it.',
  fields: (t) => ({
    state: t.expose('state', { type: DefinitionStateEnum, description: 'Whether it was accepted.' }),
    ...exposed(t, {
      hash: ['String', 'SHA-256 of what the server says now.'],
      acceptedAt: [nullable('DateTime'), 'When the tool was last accepted. Null when it never was.'],
    }),
    current: t.field({
      type: 'JSON',
      description: 'What the server says now. A list when it lists the name more than once.',
      resolve: ({ current }) => current ?? {},
    }),
    accepted: t.field({
      type: 'JSON',
      nullable: true,
      description: 'What was accepted last. Null when nothing was, and when it has more than 32,768 characters.',
      resolve: ({ accepted }) => accepted,
    }),
  }),
});

export const ToolType = builder.objectRef<ConnectionTool>('McpTool').implement({
  description:
    'A tool as the server describes it. Members that break the specification are shown as the server sends them, and `problem` names them. The texts come from the server, so trust them no more than the server.',
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque id of this tool of this connection, by which clients cache it. `node` does not find it, because only the server knows its tools.',
      resolve: ({ connectionId, name }) => toGlobalId('McpTool', `${connectionId}:${keyOfText(name)}`),
    }),
    ...exposed(t, {
      name: ['String', 'The name for calls of the tool.'],
      title: [nullable('String'), 'Name to display. Null when the server gives none.'],
      description: [nullable('String'), 'What the tool does. Null when the server gives no description.'],
    }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of the arguments of the tool. An empty object when the server gives none.',
      resolve: ({ inputSchema }) => inputSchema,
    }),
    outputSchema: t.field({
      type: 'JSON',
      nullable: true,
      description: 'JSON Schema of the structured results of the tool. Null when the server gives none.',
      resolve: ({ outputSchema }) => outputSchema,
    }),
    annotations: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Hints about the behavior of the tool, such as `readOnlyHint`. Null when the server gives none.',
      resolve: ({ annotations }) => annotations,
    }),
    icons: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Icons of the tool. Their addresses come from the server. Null when the server gives none.',
      resolve: ({ icons }) => icons,
    }),
    effect: t.expose('effect', {
      type: ToolEffectEnum,
      description: 'What the caller may do with the tool, by `toolPolicy`, `access` and `toolRules` of the connection.',
    }),
    definition: t.expose('definition', {
      type: DefinitionType,
      description: 'What the server says of the tool, and whether somebody has accepted it.',
    }),
    problem: t.exposeString('problem', {
      nullable: true,
      description:
        'What is wrong with the description of the tool, such as `inputSchema: must be an object`. The other fields have what can be read. Null when nothing is wrong.',
    }),
  }),
});

export const ToolPolicyType = builder.objectRef<ToolPolicy>('McpToolPolicy').implement({
  description: SETTINGS_TEXTS.toolPolicy,
  fields: (t) => ({
    mode: t.expose('mode', { type: ToolPolicyModeEnum, description: TOOL_POLICY_TEXTS.mode }),
    names: t.stringList({ description: TOOL_POLICY_TEXTS.names, resolve: ({ names }) => names }),
  }),
});

const groupIdsOf = ({ groupIds }: Pick<ConnectionAccess, 'groupIds'>) => groupIds.map((id) => toGlobalId('Group', id));

export const AccessType = builder.objectRef<ConnectionAccess>('McpServerAccess').implement({
  description: SETTINGS_TEXTS.access,
  fields: (t) => ({
    mode: t.expose('mode', { type: AccessModeEnum, description: ACCESS_TEXTS.mode }),
    groupIds: t.idList({ description: ACCESS_TEXTS.groupIds, resolve: groupIdsOf }),
  }),
});

export const ToolRuleType = builder.objectRef<ToolRule>('McpToolRule').implement({
  description: 'A rule for tools of a connection.',
  fields: (t) => ({
    tools: t.stringList({ description: TOOL_RULE_TEXTS.tools, resolve: ({ tools }) => tools }),
    groupIds: t.idList({ description: TOOL_RULE_TEXTS.groupIds, resolve: groupIdsOf }),
    effect: t.expose('effect', { type: ToolEffectEnum, description: TOOL_RULE_TEXTS.effect }),
  }),
});

export const ServerInfoType = builder.objectRef<ServerInfo>('McpServerInfo').implement({
  description: 'Name and versions of an MCP server, as the server gives them.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the server.' }),
    version: t.exposeString('version', { description: 'Version of the server.' }),
    protocolVersion: t.exposeString('protocolVersion', {
      nullable: true,
      description: 'The negotiated revision of the Model Context Protocol. Null when it is unknown.',
    }),
  }),
});
