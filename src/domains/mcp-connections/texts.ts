/** What the settings of MCP connections mean. The documented object of REST does not have them. */
export const SETTINGS_TEXTS = {
  handle:
    'The connection in the names of its tools, `<handle>__<tool>`: letters, digits, hyphens, and single underscores between them. It is unique in the organization without regard to case, does not change with the name of the connection, and stays reserved for 30 days after it, but for the same server.',
  toolPolicy: 'Which tools of the server can be listed and called through the gateway.',
  access:
    'Who in the organization sees and uses a shared connection. Administrators who are in none of the groups manage it and do not use it.',
  toolRules:
    'Which tools may be called by whom, after `toolPolicy`: the first rule that names the tool and counts for the caller decides. A tool that no rule names is allowed.',
  approverGroupIds:
    'Groups whose members decide about calls for which a rule has the effect `ASK`. When empty, administrators decide.',
  onToolChange:
    'What happens to a tool that is new, or of which the server says something else than was accepted, until somebody accepts it.',
  recordToolCalls: 'Which calls of tools in a session are recorded as events of it.',
  audience:
    'The `audience` in authorization and token requests, for authorization servers that need one. Null when none is sent. Only for OAuth and client credentials.',
  resource:
    'The `resource` (RFC 8707) in authorization and token requests: an absolute URI without a fragment. Null when it follows from the server; empty when none is sent, for authorization servers that refuse it. Only for OAuth and client credentials.',
  allowMissingPkceMetadata:
    'Whether the connection can be authorized although the metadata of the authorization server does not announce PKCE with the method S256. PKCE is used in any case. Only for OAuth.',
};

export const TOOL_POLICY_TEXTS = {
  mode: 'Whether all tools can be used, or only those in `names`.',
  names: 'Names of tools, which count only with the mode `ONLY`.',
};

export const ACCESS_TEXTS = {
  mode: 'Whether everybody in the organization can use the connection, or only the members of `groupIds`.',
  groupIds: 'Groups, which count only with the mode `GROUPS`; without one, nobody can use the connection.',
};

export const TOOL_RULE_TEXTS = {
  tools:
    'Names of tools, or beginnings of names followed by `*`; `*` alone is every tool. Case counts only with the effect `ALLOW`.',
  groupIds: 'Groups for whose members the rule counts. When empty, it counts for everybody.',
  effect: 'What the rule does.',
};

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
