import { builder } from '../../../core/graphql/builder.ts';
import type { ToolPolicy } from '../entity.ts';
import type { ServerInfo, Tool } from '../remote/client.ts';
import { SETTINGS_TEXTS, TOOL_POLICY_TEXTS } from '../texts.ts';
import { ToolPolicyModeEnum } from './enums.ts';

/** Types for answers of MCP servers. */

export const ToolType = builder.objectRef<Tool>('McpTool').implement({
  description:
    'A tool as the server describes it. The texts come from the server, so trust them no more than the server.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name for calls of the tool.' }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'Name to display. Null when the server gives none.',
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'What the tool does. Null when the server gives no description.',
    }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of the arguments of the tool.',
      resolve: ({ inputSchema }) => inputSchema,
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
