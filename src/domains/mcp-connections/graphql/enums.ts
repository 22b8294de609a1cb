import { builder } from '../../../core/graphql/builder.ts';

export const TypeEnum = builder.enumType('McpServerType', {
  description: 'How an MCP server is reached.',
  values: {
    REMOTE: { value: 'remote', description: 'Over Streamable HTTP.' },
    STDIO: {
      value: 'stdio',
      description: 'By a command. The gateway only stores the command and never runs it.',
    },
  } as const,
});

export const VisibilityEnum = builder.enumType('McpServerVisibility', {
  description: 'Who can see a connection.',
  values: {
    SHARED: {
      value: 'shared',
      description: 'All members of the organization can see the connection; administrators manage it.',
    },
    PERSONAL: { value: 'personal', description: 'Only its owner can see and manage the connection.' },
  } as const,
});

export const AuthTypeEnum = builder.enumType('McpServerAuthType', {
  description: 'How a remote server is authorized.',
  values: {
    OAUTH: {
      value: 'oauth',
      description:
        'OAuth authorization code grant: a user authorizes the connection. A server that requires no authorization is connected at once.',
    },
    CLIENT_CREDENTIALS: {
      value: 'client_credentials',
      description: 'OAuth client credentials grant, with client id and client secret (RFC 6749, section 4.4).',
    },
    STATIC_HEADERS: { value: 'static_headers', description: 'Fixed headers that are sent with each request.' },
  } as const,
});

export const RegistrationEnum = builder.enumType('McpServerOAuthRegistration', {
  description: 'Where the OAuth client comes from.',
  values: {
    AUTOMATIC: {
      value: 'automatic',
      description:
        'A client ID metadata document if the authorization server supports it, otherwise dynamic client registration.',
    },
    PRE_REGISTERED: {
      value: 'pre_registered',
      description: 'The owner registered the client at the authorization server; `clientId` is required.',
    },
  } as const,
});

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
