import { exposed, nullable } from '../../../core/graphql/fields.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { keyOfText, toGlobalId } from '../../../core/graphql/global-ids.ts';
import type { ToolPolicy } from '../entity.ts';
import type { ServerInfo } from '../remote/client.ts';
import type { ConnectionTool } from '../tool-operations.ts';
import { SETTINGS_TEXTS, TOOL_POLICY_TEXTS } from '../texts.ts';
import { ToolPolicyModeEnum } from './enums.ts';

/** Types for answers of MCP servers. */

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
