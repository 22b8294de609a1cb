import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { serve } from '../../../src/gateway/http/server.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type ClientHost, authorize, signedInBrowser, startClientHost } from '../../support/fixtures/oauth-flow.ts';
import { Application, type Mode, connectWith } from '../../support/fixtures/official-client.ts';

/** The official client of both generations of the protocol, with its own OAuth, at a gateway that listens. */

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

/** The browser of a person who is signed in with a key. */
const consentWith = (key: string) => async (url: URL) => {
  const jar = await signedInBrowser(gateway, key);
  return authorize(jar, url.searchParams);
};

describe.each<Mode>(['auto', 'legacy'])('the official client (%s)', (mode) => {
  test('connects with its document, calls a tool, refreshes after an hour, and reconnects after a restart', async () => {
    const { key } = await gateway.createKey();
    const application = new Application(consentWith(key), host.clientId);
    const client = await connectWith(application, mode, `${server.url}/mcp`);
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
    const again = await connectWith(application, mode, `${server.url}/mcp`);
    const called = await again.callTool({ name: 'list_sessions', arguments: {} });
    expect(called.content).toEqual([{ type: 'text', text: expect.stringContaining('"sessions"') }]);
    await again.close();
    gateway.setClock(undefined);
    expect(application.consents).toBe(1);
  });

  test('registers itself, and is asked to authorize again when the person has disconnected it', async () => {
    const { key, userId } = await gateway.createKey();
    const application = new Application(consentWith(key));
    const client = await connectWith(application, mode, `${server.url}/mcp`);
    await client.listTools();
    await client.close();
    await gateway.dependencies.sql.query(
      `update api_key set revoked_at = now() where user_id = $1 and kind = 'OAUTH_GRANT'`,
      [userId],
    );
    const again = await connectWith(application, mode, `${server.url}/mcp`);
    await again.listTools();
    await again.close();
    expect(application.consents).toBe(2);
  });

  test('of five processes of one application, all go on after a refresh at once', async () => {
    const { key } = await gateway.createKey();
    const application = new Application(consentWith(key), host.clientId);
    const client = await connectWith(application, mode, `${server.url}/mcp`);
    await client.close();
    const copies = Array.from({ length: 5 }, () => {
      const copy = new Application(consentWith(key), host.clientId);
      copy.stored = application.stored;
      return copy;
    });
    gateway.setClock(new Date(Date.now() + 3_700_000));
    const clients = await Promise.all(copies.map((copy) => connectWith(copy, mode, `${server.url}/mcp`)));
    await Promise.all(clients.map((each) => each.listTools()));
    await Promise.all(clients.map((each) => each.close()));
    gateway.setClock(undefined);
    expect(copies.map(({ consents }) => consents)).toEqual([0, 0, 0, 0, 0]);
    expect(new Set(copies.map(({ stored }) => stored?.refresh_token)).size).toBe(1);
  });
});
