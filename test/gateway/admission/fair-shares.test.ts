// What runs at once is bounded for a person, a client address without a key, and a process; what is beyond waits, and others do not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { type RunningServer, serve } from '../../../src/gateway/http/server.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  type Caller,
  type Held,
  hold,
  newCaller,
  releaseAll,
  untilWaiting,
} from '../../support/fixtures/held-requests.ts';
import { untilWaitingForLock } from '../../support/fixtures/locks.ts';

const OF_PROCESS = 8;
const OF_PERSON = 2;
const ENVIRONMENT = {
  REQUESTS_AT_ONCE: String(OF_PROCESS),
  REQUESTS_AT_ONCE_OF_PERSON: String(OF_PERSON),
  REQUESTS_AT_ONCE_OF_ADDRESS: '1',
};
const ME = '/v1/users/me';
const ok = (count: number) => Array.from({ length: count }, () => 200);

describe('requests that are beyond', () => {
  const gateway = useOwnGateway(ENVIRONMENT);

  test('of a person, with whatever keys, wait until others of the person end; those of others do not', async () => {
    const caller = await newCaller(gateway, 5);
    const neighbor = await newCaller(gateway, 0);
    const { key: second } = await gateway.createKey({ email: caller.email, organization: caller.organization });
    const held: Held[] = [];
    for (const key of [caller.key, second, caller.key, second, second]) held.push(await hold(gateway, caller, key));
    await untilWaiting(gateway, held.length - OF_PERSON);
    await untilWaitingForLock(gateway, OF_PERSON);
    expect((await gateway.rest('GET', ME, neighbor)).status).toBe(200);
    expect(held.filter(({ isAnswered }) => isAnswered)).toEqual([]);
    expect(await releaseAll(held)).toEqual(ok(held.length));
  });

  test('the share of an organization wait, while a request of another one waits for a slot', async () => {
    const first = await newCaller(gateway, OF_PERSON + 1);
    const persons = [first];
    while (persons.length < OF_PROCESS / OF_PERSON)
      persons.push(await newCaller(gateway, OF_PERSON, { organization: first.organization }));
    const waiting = await newCaller(gateway, 1, { organization: first.organization });
    const neighbor = await newCaller(gateway, 0);
    const held: Held[] = [];
    for (const person of persons)
      for (let count = 0; count < OF_PERSON; count += 1) held.push(await hold(gateway, person));
    await untilWaitingForLock(gateway, OF_PROCESS);
    const beyond = await hold(gateway, waiting);
    await untilWaiting(gateway, 1);
    const ofNeighbor = gateway.rest('GET', ME, neighbor);
    await untilWaiting(gateway, 2);
    // The slot goes to the neighbor, although the other one waits longer.
    await held[0]?.release();
    expect((await ofNeighbor).status).toBe(200);
    expect(await releaseAll([...held.slice(1), beyond])).toEqual(ok(held.length));
  });

  test('are named in the log, once in a minute, and never by their credential; waits are metrics', async () => {
    const caller = await newCaller(gateway, 4);
    const from = gateway.logged.length;
    const held: Held[] = [];
    for (let count = 0; count < 4; count += 1) held.push(await hold(gateway, caller));
    await untilWaiting(gateway, 2);
    await releaseAll(held);
    const lines = gateway.logged.slice(from).map((line) => JSON.parse(line) as Record<string, unknown>);
    const named = lines.filter(({ pool }) => pool !== undefined);
    expect(named).toEqual([expect.objectContaining({ level: 40, pool: 'requests', userId: caller.userId })]);
    expect(gateway.logged.join('\n')).not.toContain(caller.key);
    const metrics = await (await gateway.fetch('/metrics')).text();
    expect(metrics).toMatch(/^gateway_slot_wait_seconds_count\{pool="requests"\} [1-9]/m);
    expect(metrics).toMatch(/^gateway_slots_waiting\{pool="requests"\} 0$/m);
  });

  test('leave their place when their client leaves', async () => {
    const caller = await newCaller(gateway, OF_PERSON);
    const held: Held[] = [];
    for (let count = 0; count < OF_PERSON; count += 1) held.push(await hold(gateway, caller));
    await untilWaitingForLock(gateway, OF_PERSON);
    const client = new AbortController();
    const headers = { Authorization: `Bearer ${caller.key}` };
    const left = gateway.fetch(ME, { headers, signal: client.signal });
    await untilWaiting(gateway, 1);
    client.abort();
    await untilWaiting(gateway, 0);
    expect((await left).status).toBe(503);
    expect(await releaseAll(held)).toEqual(ok(OF_PERSON));
    expect((await gateway.rest('GET', ME, caller)).status).toBe(200);
  });

  test('look their key up again after they have waited: it can have been revoked', async () => {
    const caller = await newCaller(gateway, OF_PERSON);
    const { key, keyId } = await gateway.createKey({ email: caller.email, organization: caller.organization });
    const held: Held[] = [];
    for (let count = 0; count < OF_PERSON; count += 1) held.push(await hold(gateway, caller));
    await untilWaitingForLock(gateway, OF_PERSON);
    const late = gateway.rest('GET', ME, { key });
    await untilWaiting(gateway, 1);
    await gateway.dependencies.sql.query('update api_key set revoked_at = now() where id = $1', [keyId]);
    await releaseAll(held);
    expect((await late).status).toBe(401);
  });
});

describe('what has waited for too long', () => {
  const gateway = useOwnGateway(ENVIRONMENT, { timing: { slotWaitMs: 1 } });
  let server: RunningServer;
  let caller: Caller;
  beforeAll(async () => {
    server = await serve(createGateway(gateway.dependencies), { host: '127.0.0.1', port: 0 });
    caller = await newCaller(gateway, OF_PERSON);
  });
  afterAll(() => server.stop(0));

  const send = async (method: string, path: string, body?: object) => {
    const headers = { Authorization: `Bearer ${caller.key}`, 'Content-Type': 'application/json' };
    const answer = await gateway.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const { error, errors } = (await answer.json()) as { error?: unknown; errors?: unknown };
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), error, errors };
  };
  const refused = { status: 429, retryAfter: '1' };
  const message = 'too many requests at once; send fewer at the same time, or try again';

  test('is refused in the form of its API', async () => {
    const held = [await hold(gateway, caller), await hold(gateway, caller)];
    await untilWaitingForLock(gateway, OF_PERSON);
    const answer = await gateway.rest('GET', ME, caller);
    expect(answer).toMatchObject({ status: 429, body: { error: message, details: { code: 'TOO_MANY_AT_ONCE' } } });
    const rest = await send('GET', ME);
    expect(rest).toEqual({ ...refused, error: message, errors: undefined });
    const events = await send('GET', '/events/2026-03/event-definitions');
    expect(events).toMatchObject({ ...refused, errors: [{ code: 'TOO_MANY_AT_ONCE', message }] });
    const graphql = await send('POST', '/graphql', { query: '{ __typename }' });
    expect(graphql).toMatchObject({ ...refused, errors: [{ message, extensions: { code: 'TOO_MANY_AT_ONCE' } }] });
    for (const path of ['/mcp', '/v1/mcp']) {
      const rpc = await send('POST', path, { jsonrpc: '2.0', id: 7, method: 'tools/list' });
      expect(rpc).toMatchObject({ ...refused, error: { message, data: { code: 'TOO_MANY_AT_ONCE' } } });
    }
    expect(await (await gateway.fetch('/metrics')).text()).toMatch(/^gateway_slot_refusals_total\{.*\} [1-9]/m);
    expect(await releaseAll(held)).toEqual(ok(OF_PERSON));
  });

  test('requests of an address without a key are refused beyond its bound, and those with one are not', async () => {
    const invitation = { token: 'wgi_unknown', name: 'Ann' };
    const accept = () =>
      fetch(`${server.url}/v1/invitations/accept`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(invitation),
      });
    const em = gateway.dependencies.database.em.fork();
    await em.begin();
    await em.execute('lock table invitation in access exclusive mode');
    const first = accept();
    await untilWaitingForLock(gateway, 1);
    const second = await accept();
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await second.json()).toEqual({ error: message, details: { code: 'TOO_MANY_AT_ONCE' } });
    const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
    expect([metadata.status, await metadata.json()]).toEqual([
      429,
      { error: 'temporarily_unavailable', error_description: message },
    ]);
    // Nobody waits for what watches the gateway.
    for (const path of ['/health/live', '/health/ready', '/metrics'])
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 200]);
    const neighbor = await gateway.createKey();
    const headers = { Authorization: `Bearer ${neighbor.key}` };
    expect((await fetch(server.url + ME, { headers })).status).toBe(200);
    await em.rollback();
    expect((await first).status).toBe(404);
  });
});
