import { Provider } from 'oidc-provider';
import { type Peer, startPeer } from './mcp-server.ts';

/** An identity provider: oidc-provider, an independent and certified server with a page for login. */
export interface IdentityProvider {
  readonly issuer: string;
  /** The settings of a gateway that signs people in with it. */
  readonly env: Readonly<Record<string, string>>;
  /** The claims of each person, by the login name, which is the `sub`. */
  readonly people: Map<string, Record<string, unknown>>;
  readonly peer: Peer;
  /** Sends the logout tokens of the provider. */
  sendLogout: (body: string) => Promise<Response>;
  /** Runs before each answer of the token endpoint. */
  beforeToken: () => Promise<void>;
  stop(): Promise<void>;
}

const CLIENT = { id: 'gateway', secret: 'dashed-s_e.c*r~et +%2B:/&=' };

export async function startIdentityProvider(redirectUri: () => string): Promise<IdentityProvider> {
  const peer = await startPeer((_, response) => void response.writeHead(503).end());
  const issuer = peer.origin;
  const people = new Map<string, Record<string, unknown>>();
  let answer: ReturnType<Provider['callback']> | undefined;
  const provider = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [redirectUri()],
          response_types: ['code'],
          grant_types: ['authorization_code'],
          post_logout_redirect_uris: [new URL('/sign-in', redirectUri()).href],
          backchannel_logout_uri: new URL('/sign-in/oidc/logout', redirectUri()).href,
          backchannel_logout_session_required: true,
        },
      ],
      pkce: { required: () => true },
      claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
      findAccount: async (_: unknown, accountId: string) => ({
        accountId,
        claims: async () => ({ sub: accountId, ...people.get(accountId) }),
      }),
      fetch: (_: URL, { body }: { readonly body: URLSearchParams }) => identityProvider.sendLogout(body.toString()),
      features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
    });
  const identityProvider: IdentityProvider = {
    issuer,
    env: {
      ALLOW_PRIVATE_NETWORK: 'true',
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_DOMAINS: 'example.com',
      OIDC_NAME: 'Example',
    },
    people,
    peer,
    sendLogout: () => Promise.resolve(new Response()),
    beforeToken: async () => {},
    stop: () => peer.stop(),
  };
  peer.handler = (request, response) => {
    answer ??= provider().callback();
    const { url = '' } = request;
    const ready = url === '/token' ? identityProvider.beforeToken() : Promise.resolve();
    void ready.then(() => answer?.(request, response));
  };
  return identityProvider;
}
