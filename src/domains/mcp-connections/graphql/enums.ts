import { builder } from '../../../core/graphql/builder.ts';
import { enumOf } from '../../../core/graphql/enums.ts';
import {
  ACCESS_MODES,
  AUTH_TYPES,
  OAUTH_REGISTRATIONS,
  TOOL_CALL_RECORDINGS,
  TOOL_CHANGES,
  TOOL_EFFECTS,
  TOOL_POLICY_MODES,
  TYPES,
  VISIBILITIES,
} from '../entity.ts';
import { DEFINITION_STATES } from '../tool-definitions.ts';

export const TypeEnum = enumOf('McpServerType', 'How an MCP server is reached.', TYPES, {
  remote: 'Over Streamable HTTP.',
  stdio: 'By a command. The gateway only stores the command and never runs it.',
});

export const VisibilityEnum = enumOf('McpServerVisibility', 'Who can see a connection.', VISIBILITIES, {
  shared: 'All members of the organization can see the connection; administrators manage it.',
  personal: 'Only its owner can see and manage the connection.',
});

export const AuthTypeEnum = enumOf('McpServerAuthType', 'How a remote server is authorized.', AUTH_TYPES, {
  oauth:
    'OAuth authorization code grant: a user authorizes the connection. A server that requires no authorization is connected at once.',
  client_credentials: 'OAuth client credentials grant, with client id and client secret (RFC 6749, section 4.4).',
  static_headers: 'Fixed headers that are sent with each request.',
});

export const RegistrationEnum = enumOf(
  'McpServerOAuthRegistration',
  'Where the OAuth client comes from.',
  OAUTH_REGISTRATIONS,
  {
    automatic:
      'A client ID metadata document if the authorization server supports it, otherwise dynamic client registration.',
    pre_registered: 'The owner registered the client at the authorization server; `clientId` is required.',
  },
);

export const ToolPolicyModeEnum = enumOf(
  'McpToolPolicyMode',
  'Which tools of a connection can be used.',
  TOOL_POLICY_MODES,
  { ALL: 'All tools, also those that the server adds later.', ONLY: 'Only the tools that are named.' },
);

export const AccessModeEnum = enumOf(
  'McpServerAccessMode',
  'Who in the organization sees and uses a shared connection.',
  ACCESS_MODES,
  { ALL: 'Everybody in the organization.', GROUPS: 'The members of the groups that are named.' },
);

export const ToolEffectEnum = enumOf('McpToolEffect', 'What may be done with a tool.', TOOL_EFFECTS, {
  ALLOW: 'It can be called.',
  ASK: 'It can be called once another person has approved the call.',
  DENY: 'It is neither listed nor called, as if the server did not have it.',
});

export const ToolChangeEnum = enumOf(
  'McpToolChange',
  'What happens to tools that are new or changed, until somebody accepts them.',
  TOOL_CHANGES,
  {
    ALLOW: 'They can be called; notices, the feed and `McpTool.definition` say what has changed.',
    HOLD: 'They are neither listed nor called.',
  },
);

export const DefinitionStateEnum = enumOf(
  'McpToolDefinitionState',
  'Whether somebody has accepted what a server says of a tool.',
  DEFINITION_STATES,
  {
    ACCEPTED: 'It was accepted, or was in the first list of the connection.',
    NEW: 'The tool was never accepted.',
    CHANGED: 'The server says something else than was accepted.',
  },
);

export const ToolCallRecordingEnum = enumOf(
  'McpToolCallRecording',
  'Which calls of tools in a session are recorded as events of it.',
  TOOL_CALL_RECORDINGS,
  { ALL: 'All calls, with their arguments and results.', NONE: 'No calls.' },
);

export const StatusEnum = builder.enumType('McpServerStatus', {
  description: 'Status of an MCP connection.',
  values: {
    STORED: { description: 'A stdio connection. Its command is only stored.' },
    PENDING_AUTHORIZATION: {
      description:
        'An authorization was started. The user must complete it at the `authorizationUrl` within 10 minutes.',
    },
    CONNECTED: { description: 'The connection works.' },
    AUTHORIZATION_REQUIRED: { description: 'The user must authorize the connection, for the first time or again.' },
    UNREACHABLE: {
      description: 'The last request to the server or its authorization server failed. Credentials are kept.',
    },
    MISCONFIGURED: { description: 'The server refused the stored configuration or credentials.' },
  },
});

export const NextActionEnum = builder.enumType('McpServerNextAction', {
  description: 'The next step to make a connection work; it follows from the status.',
  values: {
    NONE: { description: 'Nothing.' },
    COMPLETE_AUTHORIZATION: {
      description: 'Open the `authorizationUrl`, or call `authorizeMcpServer` for a new one.',
    },
    AUTHORIZE: { description: 'Call `authorizeMcpServer`.' },
    TEST: { description: 'Call `testMcpServer` when the server is available again.' },
    UPDATE: { description: 'Correct the connection with `updateMcpServer`, then authorize it.' },
  },
});
