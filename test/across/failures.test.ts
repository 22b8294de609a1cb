import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { createDependencies } from '../../src/gateway/dependencies.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { fetchOf, startTestGateway, useOwnGateway } from '../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../support/fixtures/locks.ts';
import { eventsError } from '../support/fixtures/rest-errors.ts';
import { send } from '../support/fixtures/second-gateway.ts';

const gateway = useOwnGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const DEFINITIONS_PATH = '/events/2026-03/event-definitions';

describe('failures', () => {
  const QUERY = '{ viewer { organization { slug eventDefinitions { nodes { name } } } } }';

  test('an internal failure is 500 without details on both APIs, and its cause is logged with the request id', async () => {
    const broken = await startTestGateway();
    try {
      const issued = await broken.createKey();
      await broken.dependencies.sql.query('alter table event_definition rename to canary_table', []);
      const headers = { 'X-Request-Id': 'the-canary' };
      const rest = await send(broken, 'GET', DEFINITIONS_PATH, { key: issued.key, headers });
      const message = 'internal error; quote the request id to the operator';
      expect({ status: rest.status, body: rest.body }).toEqual({
        status: 500,
        body: { ...eventsError(message, 'INTERNAL_ERROR', 'INTERNAL'), correlationId: 'the-canary' },
      });
      const graphql = await broken.graphql(issued.key, QUERY, {}, headers);
      expect(graphql).toMatchObject({
        data: { viewer: { organization: { slug: issued.organization, eventDefinitions: null } } },
        errors: [{ message, path: ['viewer', 'organization', 'eventDefinitions'], extensions: { code: 'INTERNAL' } }],
        extensions: { requestId: 'the-canary' },
      });
      expect(`${rest.text}${JSON.stringify(graphql)}`).not.toMatch(
        /event_definition|canary_table|does not exist|select |\.ts|node_modules|42P01/,
      );
      const causes = broken.logged
        .map((line) => JSON.parse(line) as { level: number; requestId?: string; err?: { message: string } })
        .filter(({ level }) => level >= 50);
      expect(causes).toHaveLength(2);
      for (const { requestId, err } of causes)
        expect({ requestId, isNamed: err?.message.includes('event_definition') }).toEqual({
          requestId: 'the-canary',
          isNamed: true,
        });
    } finally {
      await broken.close();
    }
  });

  test('when the database has no time for a statement, both APIs answer 503 with Retry-After and say so', async () => {
    const lock = 'lock table event_definition in access exclusive mode';
    const [rest, graphql] = await whileLocked(gateway, lock, [], async () => {
      const answers = Promise.all([send(gateway, 'GET', DEFINITIONS_PATH, { key }), gateway.graphql(key, QUERY)]);
      await untilWaitingForLock(gateway, 2);
      // PostgreSQL reports a canceled statement like one that took too long.
      await gateway.dependencies.sql.query(
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        [],
      );
      return await answers;
    });
    const message = 'the database is too busy; try again';
    expect([rest.status, rest.headers.get('retry-after'), rest.body]).toMatchObject([503, '1', { message }]);
    expect(graphql).toMatchObject({
      data: { viewer: { organization: { eventDefinitions: null } } },
      errors: [{ message, path: ['viewer', 'organization', 'eventDefinitions'], extensions: { code: 'UNAVAILABLE' } }],
    });
  });

  test('while the database is unreachable, both APIs answer 503 with Retry-After, readiness fails and liveness does not; afterwards all is served again', async () => {
    const proxy = await startProxy(gateway.databaseUrl);
    const { config, secrets, log } = gateway.dependencies;
    const dependencies = await createDependencies({
      config,
      databaseUrl: proxy.url,
      secrets,
      log,
      timing: { recentMs: 0 },
    });
    const behind = { fetch: fetchOf(createGateway(dependencies)) };
    const headers = { 'X-Request-Id': 'r1' };
    const statuses = () =>
      Promise.all(
        [DEFINITIONS_PATH, '/graphql?query={__typename}', '/health/ready', '/health/live'].map(
          async (path) => (await send(behind, 'GET', path, { key })).status,
        ),
      );
    try {
      expect(await statuses()).toEqual([200, 200, 200, 200]);
      await proxy.stop();
      expect(await statuses()).toEqual([503, 503, 503, 200]);
      const message = 'the database is unreachable; try again';
      const answers = [
        await send(behind, 'POST', '/v1/organizations', { key, headers }),
        await send(behind, 'GET', DEFINITIONS_PATH, { key, headers }),
        await send(behind, 'POST', '/graphql', { key, headers }),
      ];
      expect(answers.map(({ body }) => body)).toEqual([
        { error: message },
        eventsError(message, 'INTERNAL_ERROR', 'UNAVAILABLE'),
        { errors: [{ message, extensions: { code: 'UNAVAILABLE' } }], extensions: { requestId: 'r1' } },
      ]);
      expect(answers.map((answer) => [answer.status, answer.headers.get('retry-after')])).toEqual(
        answers.map(() => [503, '1']),
      );
      await proxy.start();
      expect(await statuses()).toEqual([200, 200, 200, 200]);
    } finally {
      await dependencies.close();
      await proxy.stop();
    }
  });
});

/** A proxy between a gateway and its database, which can make the database unreachable and reachable again. */
async function startProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    const outgoing = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to);
    }
  });
  const start = (port = 0) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await start();
  const { port } = server.address() as AddressInfo;
  const url = Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href;
  return {
    url,
    start: () => start(port),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
  };
}
