import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createProxy } from '../../docs/examples/clients/proxy.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { append, createSession, eventsOf, moveTo } from '../support/fixtures/sessions.ts';
import { run } from '../support/processes/process.ts';

/** Examples of docs/clients.md that need no packages. `test/conformance` tests the others. */

let gateway: ServedGateway;
let key: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  ({ key } = await gateway.createKey());
});

test('the proxy forwards WebSockets of people who are signed in, with their key, and refuses others', async () => {
  const proxy = createProxy(gateway.url, ({ headers }) => (headers.cookie === 'session=1' ? key : undefined));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const url = `ws://127.0.0.1:${(proxy.address() as AddressInfo).port}/graphql`;
  const connect = (Cookie: string) => new WebSocket(url, 'graphql-transport-ws', { headers: { Cookie } });
  try {
    const socket = connect('session=1');
    await once(socket, 'open');
    const next = async (message: object): Promise<unknown> => {
      socket.send(JSON.stringify(message));
      const [data]: unknown[] = await once(socket, 'message');
      return JSON.parse(String(data));
    };
    expect(await next({ type: 'connection_init' })).toEqual({ type: 'connection_ack' });
    const payload = { query: '{ viewer { apiKey { name } } }' };
    expect(await next({ id: '1', type: 'subscribe', payload })).toMatchObject({
      type: 'next',
      payload: { data: { viewer: { apiKey: { name: expect.any(String) } } } },
    });
    socket.close();
    await once(socket, 'close');
    const stranger = connect('session=2');
    const [, answer] = await once(stranger, 'unexpected-response');
    expect((answer as { statusCode: number }).statusCode).toBe(401);
    stranger.on('error', () => undefined).terminate();
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

test('the Python client reads all sessions, the events of one until it is finished, and raises refusals', async ({
  skip,
}) => {
  skip(spawnSync('python3', ['--version']).status !== 0, 'Python is not installed');
  const id = await createSession(gateway, key, { title: 'From Python' });
  await moveTo(gateway, key, id, 'IN_PROGRESS');
  await append(gateway, key, id, eventsOf(3));
  await moveTo(gateway, key, id, 'COMPLETED');
  const program = `import json, sys
sys.path.insert(0, ${JSON.stringify(fileURLToPath(new URL('../../docs/examples/clients', import.meta.url)))})
from gateway import Gateway
here = Gateway(${JSON.stringify(gateway.url)}, ${JSON.stringify(key)})
try: Gateway(${JSON.stringify(gateway.url)}, "wgk_nothing").graphql("{ __typename }")
except RuntimeError as error: refused = [str(error)]
try: list(here.events("nope"))
except RuntimeError as error: refused.append(str(error))
print(json.dumps([[s["title"] for s in here.sessions()], [e["id"] for e in here.events(${JSON.stringify(id)})], refused]))`;
  const { stdout, stderr, code } = await run(['python3', '-B', '-c', program], {});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual([
    ['From Python'],
    [1, 2, 3],
    ['missing or invalid API key', 'sessionId: must be a UUID'],
  ]);
});
