import { builder } from '../../../core/graphql/builder.ts';
import type { ServerInfo, Tool } from '../remote/client.ts';

/** What a live server answers. */

export const ToolType = builder.objectRef<Tool>('McpTool').implement({
  description:
    'A tool, as the live server describes it. Its texts come from that server: do not trust them more than the server.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name that the tool is called by.' }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'Name to display; null when the server gives none.',
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'What the tool does; null when the server gives none.',
    }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of its arguments.',
      resolve: ({ inputSchema }) => inputSchema,
    }),
  }),
});

export const ServerInfoType = builder.objectRef<ServerInfo>('McpServerInfo').implement({
  description: 'The name and versions that a server answers with when a connection to it is opened.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    version: t.exposeString('version', { description: 'Its version.' }),
    protocolVersion: t.exposeString('protocolVersion', {
      nullable: true,
      description: 'The negotiated revision of the Model Context Protocol; null when it is not known.',
    }),
  }),
});
