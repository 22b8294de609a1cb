import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/core/embedded-postgres.ts';
import { gone, query } from '../support/processes/embedded-postgres.ts';
import {
  type GatewayProcess,
  call,
  checkout,
  endProcesses,
  freshDatabase,
  run,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';

afterEach(endProcesses);

const main = (env: Record<string, string>) => run([process.execPath, join(checkout, 'src/main.ts')], env);

async function throughBothDoors({ url, key }: GatewayProcess) {
  const rest = await call(url, key, 'GET', '/events/2026-03/event-definitions');
  const graphql = await call(url, key, 'POST', '/graphql', {
    query: '{ viewer { organization { slug eventDefinitions { nodes { name } } } } }',
  });
  return { rest: rest.status, graphql: graphql.body };
}

const demoAnswers = {
  rest: 200,
  graphql: expect.objectContaining({
    data: {
      viewer: {
        organization: {
          slug: 'demo',
          eventDefinitions: { nodes: [{ name: 'order_completed' }, { name: 'product_viewed' }] },
        },
      },
    },
  }),
};

describe('without configuration', () => {
  test('the first start prints one block whose key works on both doors; the second keeps the data and prints no key', async () => {
    const DATA_DIR = await temporaryDirectory();
    const first = await startGateway({ DATA_DIR });
    const anonymous = first.output.stdout.replaceAll(first.url, 'URL').replaceAll(first.key, 'KEY');
    expect(anonymous).toMatchInlineSnapshot(`
      "
        Workspace gateway is ready.

          GraphiQL        URL/graphql
          REST reference  URL/docs
          API key         KEY   (shown this once)

          curl URL/events/2026-03/event-definitions -H "Authorization: Bearer KEY"

      "
    `);
    expect(first.output.stderr).toBe('');
    expect(await throughBothDoors(first)).toEqual(demoAnswers);
    expect(await first.end('SIGTERM')).toBe(0);

    const second = await startGateway({ DATA_DIR });
    expect(second.output.stdout.replaceAll(second.url, 'URL')).toMatchInlineSnapshot(`
      "
        Workspace gateway is ready.

          GraphiQL        URL/graphql
          REST reference  URL/docs
          API key         make one with: npm run --silent cli -- keys create --email you@example.com --organization demo

          curl URL/events/2026-03/event-definitions -H "Authorization: Bearer $KEY"

      "
    `);
    expect(await throughBothDoors({ ...second, key: first.key })).toEqual(demoAnswers);
    expect(await second.end('SIGINT')).toBe(0);

    const bare = await Promise.all([startOfPostgres(DATA_DIR), startOfNode()]);
    const [postgresMs, nodeMs] = bare.map(Math.round);
    console.log(
      `start: first ${Math.round(first.startMs)} ms, again ${Math.round(second.startMs)} ms; bare PostgreSQL ${postgresMs} ms, bare node ${nodeMs} ms`,
    );
  });

  test('the key to the secrets is closed to others', async () => {
    const DATA_DIR = await temporaryDirectory();
    const gateway = await startGateway({ DATA_DIR });
    const { stdout } = await run(['stat', '-c', '%a', join(DATA_DIR, 'encryption-keys')], {});
    expect(stdout).toBe('600\n');
    expect(await gateway.end('SIGTERM')).toBe(0);
  });

  test('a second gateway on the same data directory is refused, naming the process of the first', async () => {
    const DATA_DIR = await temporaryDirectory();
    const first = await startGateway({ DATA_DIR });
    const second = await main({ DATA_DIR, PORT: '0' });
    expect(second).toEqual({
      code: 1,
      stdout: '',
      stderr: `DATA_DIR: Another gateway (process ${first.pid}) uses the database in ${DATA_DIR}. Stop it, or give this one a DATA_DIR or a DATABASE_URL of its own.\n`,
    });
    expect((await throughBothDoors(first)).rest).toBe(200);
  });

  test('a port that is taken gives one line, and the next start still shows the first key', async () => {
    const DATA_DIR = await temporaryDirectory();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const PORT = String(typeof address === 'object' ? address?.port : '');
    const refused = await main({ DATA_DIR, PORT });
    other.close();
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: `PORT: another program listens on port ${PORT} of 127.0.0.1 already\n`,
    });
    const gateway = await startGateway({ DATA_DIR, PORT });
    expect(gateway.url).toBe(`http://127.0.0.1:${PORT}`);
    expect(await throughBothDoors(gateway)).toEqual(demoAnswers);
  });

  test('kill -9 under acknowledged writes: the next start has every one, and no PostgreSQL stays behind', async () => {
    const DATA_DIR = await temporaryDirectory();
    const gateway = await startGateway({ DATA_DIR, RATE_LIMIT_PER_MINUTE: '0' });
    const acknowledged: string[] = [];
    let isDead = false;
    const writer = async () => {
      while (!isDead) {
        const name = `e${randomUUID().replaceAll('-', '')}`;
        const answer = await call(gateway.url, gateway.key, 'POST', '/events/2026-03/event-definitions', {
          label: name,
          name,
        }).catch(() => undefined);
        if (answer?.status === 201) acknowledged.push(name);
      }
    };
    const writers = Array.from({ length: 8 }, writer);
    await expect.poll(() => acknowledged.length).toBeGreaterThan(200);
    const postmaster = Number((await readFile(join(DATA_DIR, 'postgres/data/postmaster.pid'), 'utf8')).split('\n')[0]);
    expect(await gateway.end('SIGKILL')).toBeNull();
    isDead = true;
    await Promise.all(writers);
    await gone(postmaster);

    const again = await startGateway({ DATA_DIR });
    const stored = new Set<unknown>();
    for (let path: string | undefined = '/events/2026-03/event-definitions?limit=500'; path;) {
      const { body } = await call(again.url, gateway.key, 'GET', path);
      const page = body as { results: { name: string }[]; paging?: { next: { link: string } } };
      for (const { name } of page.results) stored.add(name);
      const link: string | undefined = page.paging?.next.link;
      path = link && new URL(link, again.url).pathname + new URL(link, again.url).search;
    }
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
    expect(await again.end('SIGTERM')).toBe(0);
  });
});

describe('configuration', () => {
  test.for([
    ['PORT', 'abc', 'PORT: must be a whole number from 0 to 65535'],
    ['PORT', '65536', 'PORT: must be a whole number from 0 to 65535'],
    ['HOST', 'not a host', 'HOST: must be a host name or an IP address'],
    ['DATABASE_URL', 'mysql://127.0.0.1/x', 'DATABASE_URL: must be a postgresql:// URL'],
    [
      'DATABASE_REPLICA_URLS',
      'postgres://127.0.0.1/a,nonsense',
      'DATABASE_REPLICA_URLS: must be postgresql:// URLs, separated by commas',
    ],
    ['DATA_DIR', '/dev/null/data', "DATA_DIR: ENOTDIR: not a directory, mkdir '/dev/null/data'"],
    ['PUBLIC_URL', 'ftp://127.0.0.1', 'PUBLIC_URL: must be an http(s) URL without user, query and fragment'],
    [
      'PUBLIC_URL',
      'https://me:secret@example.com',
      'PUBLIC_URL: must be an http(s) URL without user, query and fragment',
    ],
    [
      'CLIENT_METADATA_URL',
      'https://example.com/',
      'CLIENT_METADATA_URL: must be an https URL with a path, without user, query and fragment',
    ],
    ['ENCRYPTION_KEYS', 'k1:c2hvcnQ=', expect.stringMatching(/^ENCRYPTION_KEYS: .*32 bytes/)],
    ['ALLOW_PRIVATE_NETWORK', 'yes', 'ALLOW_PRIVATE_NETWORK: must be true or false'],
    ['RUN_JOBS', '1', 'RUN_JOBS: must be true or false'],
    ['RATE_LIMIT_PER_MINUTE', '-1', 'RATE_LIMIT_PER_MINUTE: must be a whole number from 0 to 1000000'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL: must be one of fatal, error, warn, info, debug, trace, silent'],
    [
      'DEFAULT_SUBSCRIPTION',
      'marketing:gold',
      'DEFAULT_SUBSCRIPTION: must be FAMILY:LEVEL pairs; families: marketing, sales, service, content, data, revenue; levels: free, starter, professional, enterprise',
    ],
    ['USER_DELETION_DELAY', '1.5', 'USER_DELETION_DELAY: must be a whole number from 0 to 31536000'],
    ['MONTHLY_OCCURRENCE_LIMIT', 'none', 'MONTHLY_OCCURRENCE_LIMIT: must be a whole number from 0 to 9007199254740991'],
  ] as const)(
    '%s=%s stops the start with one line that names it and, but for a path, does not repeat the value',
    async ([name, value, line]) => {
      const DATA_DIR = await temporaryDirectory();
      const { code, stdout, stderr } = await main({ DATA_DIR, PORT: '0', [name]: value });
      expect({ code, stdout, lines: stderr.split('\n') }).toEqual({ code: 1, stdout: '', lines: [line, ''] });
    },
  );

  test('DATABASE_URL without ENCRYPTION_KEYS, and with a database that does not answer', async () => {
    const DATABASE_URL = 'postgresql://user:password@127.0.0.1:1/gateway';
    const ENCRYPTION_KEYS = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
    expect(await main({ DATABASE_URL })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'ENCRYPTION_KEYS: is required with DATABASE_URL; make one with: echo "k1:$(head -c 32 /dev/urandom | base64)"\n',
    });
    expect(await main({ DATABASE_URL, ENCRYPTION_KEYS })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'DATABASE_URL: the database does not answer: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });

  test('a key file that others may read stops the start', async () => {
    const DATA_DIR = await temporaryDirectory();
    await writeFile(join(DATA_DIR, 'encryption-keys'), 'k1:x', { mode: 0o644 });
    expect(await main({ DATA_DIR })).toEqual({
      code: 1,
      stdout: '',
      stderr: `DATA_DIR: key file ${DATA_DIR}/encryption-keys must be closed to group and others (chmod 600)\n`,
    });
  });
});

test('two gateways that start together on one fresh database migrate it once, and serve it both', async () => {
  const env = await freshDatabase(inject('serverUrl'));
  const gateways = await Promise.all([startGateway(env), startGateway(env), startGateway(env)]);
  const [{ twice } = { twice: 'none' }] = (await query(
    env.DATABASE_URL,
    'select count(*) > count(distinct name) as twice from mikro_orm_migrations',
  )) as { twice: unknown }[];
  expect(twice).toBe(false);
  const states = await Promise.all(gateways.map(({ url }) => call(url, '', 'GET', '/health/ready')));
  expect(states).toEqual(gateways.map(() => ({ status: 200, body: { status: 'ready' } })));
  expect(await Promise.all(gateways.map((gateway) => gateway.end('SIGTERM')))).toEqual([0, 0, 0]);
});

async function startOfPostgres(dataDir: string): Promise<number> {
  const began = performance.now();
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const ms = performance.now() - began;
  await server.stop();
  return ms;
}

async function startOfNode(): Promise<number> {
  const began = performance.now();
  await run([process.execPath, '-e', ''], {});
  return performance.now() - began;
}
