import { readFile, readdir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { findRunningEmbeddedPostgres } from '../../src/core/postgres/embedded/server.ts';
import { visit } from '../support/fixtures/mcp-connections.ts';
import { startOAuthFixture } from '../support/peers/mcp-authorization-server.ts';
import { consentByForms, startOidcFixture } from '../support/peers/mcp-oidc-server.ts';
import { startPeer } from '../support/peers/mcp-server.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type GatewayProcess,
  call,
  endProcesses,
  freshDatabase,
  issueKey,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';

/** MCP connections in gateway processes, as an operator runs them, with a database in files. */

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
  await endProcesses();
});

const created = z.object({ authorizationUrl: z.string().nullable(), connection: z.object({ id: z.string() }) });

function browserOf({ url }: GatewayProcess) {
  return {
    fetch: (path: string | Request, init?: RequestInit) =>
      fetch(new URL(typeof path === 'string' ? path : path.url, url), init),
  };
}

function useServer({ url }: GatewayProcess, key: string, id: string) {
  const mutation =
    'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }';
  return call(url, key, 'POST', '/graphql', { query: mutation, variables: { id } });
}

/** Makes the tokens older by this number of seconds. */
async function age(databaseUrl: string, connectionId: string, seconds: number): Promise<void> {
  await query(
    databaseUrl,
    `update mcp_connection set token_expires_at = token_expires_at - interval '${seconds} seconds',
       refresh_after = refresh_after - interval '${seconds} seconds' where id = '${connectionId}'`,
  );
}

/** Resolves when, from now on, a process has tried to claim the refresh of tokens. The process that refreshes them does not try again. */
async function untilOtherClaim(databaseUrl: string): Promise<void> {
  const [now] = (await query(databaseUrl, 'select clock_timestamp()::text as at')) as { at: string }[];
  const later = `select 1 from pg_stat_activity
    where query like 'update "mcp_connection" set "refresh_lease_until"%' and query_start > '${now?.at}'`;
  await expect.poll(() => query(databaseUrl, later), { interval: 10 }).not.toEqual([]);
}

// test/domains/mcp-connections/token-refresh.test.ts tests other cases of a refresh, in this process and with a test clock.
test('20 concurrent uses of an expired token in two processes cause exactly one refresh at a certified server', async () => {
  let beforeToken = async () => {};
  const fixture = await startOidcFixture({ beforeToken: () => beforeToken() });
  undo.push(() => fixture.stop());
  const env = {
    ...(await freshDatabase()),
    ALLOW_PRIVATE_NETWORK: 'true',
    RATE_LIMIT_PER_MINUTE: '0',
    // Otherwise the job that refreshes idle connections might refresh the token first.
    RUN_JOBS: 'false',
  };
  const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
  const key = await issueKey(env);
  const answer = await call(one.url, key, 'POST', '/v1/mcp-connections', {
    name: 'oidc',
    serverUrl: fixture.serverUrl,
  });
  const { authorizationUrl, connection } = created.parse(answer.body);
  const back = await consentByForms(authorizationUrl ?? '');
  expect((await visit(browserOf(one), back)).status).toBe(200);
  expect(fixture.refreshes()).toBe(0);
  await age(env.DATABASE_URL, connection.id, 3_600);
  beforeToken = () => untilOtherClaim(env.DATABASE_URL);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => useServer(index % 2 === 0 ? one : two, key, connection.id)),
  );
  const payload = { data: { testMcpServer: { __typename: 'TestMcpServerPayload' } } };
  const answers = new Set(
    outcomes.map(({ status, body }) => JSON.stringify({ status, ...(body as object), extensions: undefined })),
  );
  expect(answers).toEqual(new Set([JSON.stringify({ status: 200, ...payload })]));
  expect(fixture.refreshes()).toBe(1);
});

/** The secret unchanged and encoded as in a header, a form, a query or a dump. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const forms = [secret, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')];
  return [...new Set([...forms, encodeURIComponent(secret)])].map((form) => Buffer.from(form));
}

/**
 * The variables of a gateway in which a library writes this text as a warning after the signal SIGUSR2. The client package
 * writes such warnings, with text of the server, only in methods that the gateway does not call.
 */
function warnOnSignal(text: string): Record<string, string> {
  const module = `process.on('SIGUSR2', () => console.warn(${JSON.stringify(`[mcp-sdk] excluding tool '${text}'`)}));`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(module)}` };
}

/** Answers with the secret header as the name of a tool with an invalid declaration. */
function repeatSecret(request: IncomingMessage, response: ServerResponse): void {
  void json(request).then((message) => {
    const { id, method } = z.object({ id: z.unknown(), method: z.string() }).parse(message);
    const inputSchema = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': '' } } };
    const answered =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } }
        : { tools: [{ name: request.headers['x-key'], inputSchema }] };
    const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...answered };
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
}

interface Place {
  readonly place: string;
  readonly bytes: Buffer;
}

async function filesOf(directory: string): Promise<Place[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.map(async (place) => ({ place, bytes: await readFile(place) })));
}

test('after every kind of use, no secret is in the files of the database, its write-ahead log, the log, the metrics or an answer', async () => {
  const fixture = await startOAuthFixture();
  undo.push(() => fixture.stop());
  const { secrets } = fixture;
  const stated = { env: 'env-value/1111', header: 'header-value+2222', machine: 'machine-secret:3333' };
  for (const secret of Object.values(stated)) secrets.add(secret);
  const parrot = await startPeer(repeatSecret);
  undo.push(() => parrot.stop());

  const dataDir = await temporaryDirectory();
  const env = { DATA_DIR: dataDir, ALLOW_PRIVATE_NETWORK: 'true', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'trace' };
  const gateway = await startGateway({ ...env, ...warnOnSignal(stated.header) });
  const key = await issueKey(env);
  secrets.add(key);
  const answers: unknown[] = [];
  const ask = async (path: string, body?: unknown) => {
    const answer = await call(gateway.url, key, 'POST', path, body);
    answers.push(answer.body);
    return answer;
  };
  const use = async (id: string) => answers.push((await useServer(gateway, key, id)).body);
  const create = (body: object) => ask('/v1/mcp-connections', body);

  await create({ type: 'stdio', name: 'to-be-found', command: 'c', env: { A: stated.env } });
  const headed = created.parse(
    (
      await create({
        name: 'headed',
        serverUrl: `${parrot.origin}/mcp`,
        authType: 'static_headers',
        headers: { 'X-Key': stated.header },
      })
    ).body,
  );
  parrot.handler = (request, response) =>
    void response.writeHead(403, String(request.headers['x-key'])).end(JSON.stringify(request.headers));
  await use(headed.connection.id);
  process.kill(gateway.pid, 'SIGUSR2');
  await expect.poll(() => gateway.output.stdout).toContain('"library":"mcp-sdk","msg":"a library wrote a warning');
  fixture.addClient('machine', stated.machine);
  const machine = {
    name: 'machine',
    authType: 'client_credentials',
    clientId: 'machine',
    clientSecret: stated.machine,
  };
  await create({ ...machine, serverUrl: fixture.serverUrl });
  const { authorizationUrl, connection } = created.parse(
    (await create({ name: 'oauth', serverUrl: fixture.serverUrl })).body,
  );
  const expire = async () => {
    const databaseUrl = await findRunningEmbeddedPostgres(dataDir);
    await age(databaseUrl ?? '', connection.id, fixture.tokenLifetimeS);
  };
  const page = await visit(browserOf(gateway), fixture.consent(authorizationUrl ?? ''));
  expect(page.status).toBe(200);
  answers.push(page.text);
  await expire();
  await use(connection.id);
  expect(fixture.tokenRequests.at(-1)?.get('grant_type')).toBe('refresh_token');
  fixture.onToken = (_, response) =>
    void response
      .writeHead(400, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ error: 'server_error', error_description: fixture.tokenRequests.at(-1)?.toString() }));
  await expire();
  await use(connection.id);
  await ask(`/v1/mcp-connections/${connection.id}/authorize`);
  const read =
    '{ viewer { organization { mcpServers { nodes { name envKeys headerKeys status statusReason clientId } } } } }';
  await ask('/graphql', { query: read });
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  // The last checkpoint writes everything to its files.
  expect(await gateway.end('SIGTERM')).toBe(0);

  const files = await filesOf(dataDir);
  const places: Place[] = [
    ...files,
    { place: 'log', bytes: Buffer.from(gateway.output.stdout + gateway.output.stderr) },
    { place: 'metrics', bytes: Buffer.from(metrics) },
    { place: 'answers', bytes: Buffer.from(JSON.stringify(answers)) },
  ];
  expect(secrets.size).toBeGreaterThanOrEqual(10);
  const found = [...secrets]
    .filter((secret) => secret !== '')
    .flatMap((secret) => formsOf(secret).flatMap((form) => places.filter(({ bytes }) => bytes.includes(form))))
    .map(({ place }) => place);
  expect(found).toEqual([]);
  // Other text is found in a table and in the write-ahead log, so the search works on these files.
  const holders = files.filter(({ bytes }) => bytes.includes('to-be-found')).map(({ place }) => place);
  expect(holders.filter((place) => /\/base\/\d+\/\d+$/.test(place)).length).toBeGreaterThan(0);
  expect(holders.filter((place) => place.includes('/pg_wal/')).length).toBeGreaterThan(0);
});
