import { builder } from '../../../core/graphql/builder.ts';

export const TypeEnum = builder.enumType('McpServerType', {
  description: 'How an MCP server is reached.',
  values: {
    REMOTE: { value: 'remote', description: 'Over Streamable HTTP.' },
    STDIO: {
      value: 'stdio',
      description: 'By a command, which is stored only: the gateway never runs it.',
    },
  } as const,
});

export const VisibilityEnum = builder.enumType('McpServerVisibility', {
  description: 'Who can see a connection.',
  values: {
    SHARED: { value: 'shared', description: 'The whole organization; administrators manage the connection.' },
    PERSONAL: { value: 'personal', description: 'Its owner alone.' },
  } as const,
});

export const AuthTypeEnum = builder.enumType('McpServerAuthType', {
  description: 'How a remote server is authorized.',
  values: {
    OAUTH: {
      value: 'oauth',
      description: 'With OAuth, by its user. A server that needs no authorization is connected at once.',
    },
    CLIENT_CREDENTIALS: {
      value: 'client_credentials',
      description: 'With OAuth, by client id and client secret (RFC 6749, section 4.4).',
    },
    STATIC_HEADERS: { value: 'static_headers', description: 'By fixed headers, which are sent with each request.' },
  } as const,
});

export const RegistrationEnum = builder.enumType('McpServerOAuthRegistration', {
  description: 'Where the OAuth client comes from.',
  values: {
    AUTOMATIC: {
      value: 'automatic',
      description:
        'From a client ID metadata document where the authorization server supports it, else from dynamic client registration.',
    },
    PRE_REGISTERED: { value: 'pre_registered', description: 'The owner registered the client; `clientId` names it.' },
  } as const,
});

export const StatusEnum = builder.enumType('McpServerStatus', {
  description: 'Whether a connection works, and if not, what is missing.',
  values: {
    STORED: { description: 'A stdio command, which is stored only.' },
    PENDING_AUTHORIZATION: {
      description:
        'An authorization was started; its user must complete it at the `authorizationUrl` within 10 minutes.',
    },
    CONNECTED: { description: 'The connection works.' },
    AUTHORIZATION_REQUIRED: { description: 'Its user must authorize the connection, for the first time or again.' },
    UNREACHABLE: {
      description: 'The last request to the server or its authorization server failed. Credentials are kept.',
    },
    MISCONFIGURED: { description: 'The server refuses the stored configuration or credentials.' },
  },
});

export const NextActionEnum = builder.enumType('McpServerNextAction', {
  description: 'What to do next, according to the status.',
  values: {
    NONE: { description: 'Nothing.' },
    COMPLETE_AUTHORIZATION: {
      description: 'Open the `authorizationUrl`, or authorize again for a new one.',
    },
    AUTHORIZE: { description: 'Call `authorizeMcpServer`.' },
    TEST: { description: 'Call `testMcpServer` when the server is available again.' },
    UPDATE: { description: 'Correct the connection with `updateMcpServer`, then authorize it.' },
  },
});
