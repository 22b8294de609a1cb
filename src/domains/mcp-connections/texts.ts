/** What the fields of MCP connections mean. */
export const MCP_CONNECTION_TEXTS = {
  id: 'Id of the connection.',
  name: 'Name of the connection.',
  type: 'Whether the server runs beside the agent (`stdio`) or is reached by HTTP (`remote`).',
  visibility: 'Who can see and use the connection: all members, or only its owner.',
  serverUrl: 'Address of the remote server. Null for `stdio`.',
  connectedAt: 'When the connection was last connected. Null when it never was.',
  args: 'Arguments of the command. Null for `remote`.',
  authType: 'How requests to the remote server are authenticated. Null for `stdio`.',
  command: 'The command that starts the server. Null for `remote`.',
  createdAt: 'When the connection was created.',
  updatedAt: 'When the connection last changed. `expectedUpdatedAt` is compared with it.',
  envKeys: 'Names of the environment variables; their values are never shown.',
  headerKeys: 'Names of the headers; their values are never shown.',
};
