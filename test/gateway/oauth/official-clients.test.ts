import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { serve } from '../../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type ClientHost,
  decide,
  onwardOf,
  signedInBrowser,
  startClientHost,
} from '../../support/fixtures/oauth-flow.ts';

/** The official client of both generations of the protocol, with its own OAuth, at a gateway that listens. */

const REDIRECT = 'http://127.0.0.1:38123/callback';

let gateway: TestGateway;
let host: ClientHost;
let server: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true', OAUTH_REGISTRATION: 'true' });
  server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
  gateway.dependencies.address.url = server.url;
  host = await startClientHost();
  host.document['redirect_uris'] = ['http://127.0.0.1/callback'];
});
afterAll(async () => {
  await server.stop(0);
  await gateway.close();
  await host.stop();
});

/** What an application stores, and the browser of its person. */
class Application implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: 'Official client', redirect_uris: [REDIRECT] };
  readonly #key: string;
  information: StoredOAuthClientInformation | undefined;
  stored: StoredOAuthTokens | undefined;
  callback: URLSearchParams | undefined;
  consents = 0;
  #verifier = '';

  /** With an id, the client has a document; without, it registers itself. */
  constructor(key: string, clientId?: string) {
    this.#key = key;
    if (clientId !== undefined) this.information = { client_id: clientId };
  }

  clientInformation = () => this.information;
  saveClientInformation = (given: StoredOAuthClientInformation) => void (this.information = given);
  tokens = () => this.stored;
  saveTokens = (given: StoredOAuthTokens) => void (this.stored = given);
  invalidateCredentials = (what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') => {
    if (what === 'all' || what === 'tokens') this.stored = undefined;
    if (what === 'all' || what === 'client') this.information = undefined;
  };
  saveCodeVerifier = (given: string) => void (this.#verifier = given);
  codeVerifier = () => this.#verifier;

  async redirectToAuthorization(url: URL): Promise<void> {
    this.consents += 1;
    const jar = await signedInBrowser(gateway, this.#key);
    const consent = (await jar.open(url.pathname + url.search)).headers.get('location') ?? '';
    const page = await (await jar.open(consent)).text();
    const decided = await decide(jar, consent, page);
    const back = await jar.open(onwardOf(await decided.text()));
    this.callback = new URL(back.headers.get('location') ?? '').searchParams;
  }
}

type Mode = 'auto' | 'legacy';

/** Connects like an application: refused at first, then with the answer that the browser brings. */
async function connectWith(application: Application, mode: Mode, path = '/mcp'): Promise<Client> {
  const transport = () => new StreamableHTTPClientTransport(new URL(path, server.url), { authProvider: application });
  const client = () => new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const first = transport();
  try {
    const connected = client();
    await connected.connect(first);
    return connected;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await first.finishAuth(application.callback ?? new URLSearchParams());
  }
  const connected = client();
  await connected.connect(transport());
  return connected;
}

describe.each<Mode>(['auto', 'legacy'])('the official client (%s)', (mode) => {
  test('connects with its document, calls a tool, refreshes after an hour, and reconnects after a restart', async () => {
    const { key } = await gateway.createKey();
    const application = new Application(key, host.clientId);
    const client = await connectWith(application, mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('list_sessions');
    const first = application.stored?.access_token;
    gateway.setClock(new Date(Date.now() + 3_700_000));
    await client.listTools();
    expect(application.stored?.access_token).not.toBe(first);
    await client.close();
    await server.stop(0);
    const { port } = new URL(server.url);
    server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: Number(port) });
    const again = await connectWith(application, mode);
    const called = await again.callTool({ name: 'list_sessions', arguments: {} });
    expect(called.content).toEqual([{ type: 'text', text: expect.stringContaining('"sessions"') }]);
    await again.close();
    gateway.setClock(undefined);
    expect(application.consents).toBe(1);
  });

  test('registers itself, and is asked to authorize again when the person has disconnected it', async () => {
    const { key, userId } = await gateway.createKey();
    const application = new Application(key);
    const client = await connectWith(application, mode);
    await client.listTools();
    await client.close();
    await gateway.dependencies.sql.query(
      `update api_key set revoked_at = now() where user_id = $1 and kind = 'OAUTH_GRANT'`,
      [userId],
    );
    const again = await connectWith(application, mode);
    await again.listTools();
    await again.close();
    expect(application.consents).toBe(2);
  });

  test('of five processes of one application, all go on after a refresh at once', async () => {
    const { key } = await gateway.createKey();
    const application = new Application(key, host.clientId);
    const client = await connectWith(application, mode);
    await client.close();
    const copies = Array.from({ length: 5 }, () => {
      const copy = new Application(key, host.clientId);
      copy.stored = application.stored;
      return copy;
    });
    gateway.setClock(new Date(Date.now() + 3_700_000));
    const clients = await Promise.all(copies.map((copy) => connectWith(copy, mode)));
    await Promise.all(clients.map((each) => each.listTools()));
    await Promise.all(clients.map((each) => each.close()));
    gateway.setClock(undefined);
    expect(copies.map(({ consents }) => consents)).toEqual([0, 0, 0, 0, 0]);
    expect(new Set(copies.map(({ stored }) => stored?.refresh_token)).size).toBe(1);
  });
});
