import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { MODERN_META, answering, modernHeaders, toolCall, useFixtureOf } from '../../support/fixtures/mcp-use.ts';
import { mcpHandler } from '../../support/peers/mcp-server.ts';
import { append, createSession, eventsOf, tail } from '../../support/fixtures/sessions.ts';

/** A span of OTLP in JSON (opentelemetry-proto, trace.proto). */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  readonly status: { code?: number };
}

let collector: Server;
let endpoint: string;
let received: { url: string | undefined; agent: string | undefined; text: string }[];
let gateway: TestGateway;
let isOpen: boolean;

beforeEach(async () => {
  received = [];
  collector = createServer((incoming, outgoing) => {
    void text(incoming).then((body) => {
      received.push({ url: incoming.url, agent: incoming.headers['user-agent'], text: body });
      outgoing.setHeader('Content-Type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  // So long that no trace is lost on a slow machine.
  await open(60_000);
});
afterEach(async () => {
  await close();
  collector.closeAllConnections();
  collector.close();
});

async function open(traceFlushMs: number): Promise<void> {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ALLOW_PRIVATE_NETWORK: 'true' };
  gateway = await startTestGateway(env, { timing: { traceFlushMs } });
  isOpen = true;
}

async function close(): Promise<void> {
  if (isOpen) await gateway.close();
  isOpen = false;
}

/** Closes the gateway, which sends all spans, and returns them. */
async function spans(): Promise<OtlpSpan[]> {
  await close();
  await expect.poll(() => new Set(received.map(({ url }) => url))).toEqual(new Set(['/v1/traces']));
  for (const { agent } of received) expect(agent).toMatch(/^WorkspaceGateway\/\S+ OTel-/);
  return receivedSpans();
}

/** The spans that have ended and were sent, in the order in which they ended. */
function receivedSpans(): OtlpSpan[] {
  return received.flatMap((one) =>
    (JSON.parse(one.text) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }).resourceSpans.flatMap(
      ({ scopeSpans }) => scopeSpans.flatMap(({ spans: list }) => list),
    ),
  );
}

const KINDS = ['', 'internal', 'server', 'client'];

/** The names beneath a span, indented by depth, in the order in which they began. */
function tree(all: readonly OtlpSpan[], parent: string, depth = 0): string[] {
  return all
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
    .flatMap(({ name, kind, spanId }) => [
      `${'  '.repeat(depth)}${KINDS[kind]} ${name}`,
      ...tree(all, spanId, depth + 1),
    ]);
}

const attribute = (span: OtlpSpan | undefined, name: string) =>
  Object.values(span?.attributes.find(({ key }) => key === name)?.value ?? {})[0];

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traced = { traceparent: `00-${TRACE}-${PARENT}-01` };

test('the trace of a REST request contains its operation and its SQL statements below the span of the caller, and no values', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const { status } = await gateway.rest('PATCH', `/v1/sessions/${id}`, {
    key,
    body: { title: 'A canary in the title' },
    headers: { ...traced, 'X-Request-Id': 'request-1' },
  });
  expect(status).toBe(200);
  const all = await spans();
  const ours = all.filter(({ traceId }) => traceId === TRACE);
  const lines = tree(ours, PARENT);
  expect(lines.slice(0, 2)).toEqual(['server PATCH updateSession', '  client SELECT api_key']);
  const beneath = lines.slice(lines.indexOf('  internal updateSession') + 1);
  expect(beneath).toContain('    client UPDATE session');
  expect(beneath.every((line) => line.startsWith('    client '))).toBe(true);
  expect(lines).toHaveLength(ours.length);
  const arrival = ours.find(({ kind }) => kind === 2);
  expect(attribute(arrival, 'http.response.status_code')).toBe(200);
  expect(attribute(arrival, 'gateway.request_id')).toBe('request-1');
  const sent = received.map((one) => one.text).join('');
  for (const secret of ['canary', key, id, key.slice(4, 12)]) expect(sent).not.toContain(secret);
  expect(sent).toContain('workspace-gateway');
  expect(gateway.logged.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ msg: 'request', requestId: 'request-1', traceId: TRACE }),
  );
});

test('the statements of a transaction are spans below its operation, from BEGIN to COMMIT', async () => {
  const { key } = await gateway.createKey();
  const input = { name: 'Canary' };
  const { status } = await gateway.rest('POST', '/v1/organizations', { key, body: input, headers: traced });
  expect(status).toBe(201);
  const all = (await spans()).filter(({ traceId }) => traceId === TRACE);
  const operation = all.find(({ name }) => name === 'createOrganization');
  const statements = tree(all, operation?.spanId ?? '');
  expect(statements[0]).toBe('client BEGIN');
  expect(statements).toContain('client INSERT organization');
  expect(statements.at(-1)).toBe('client COMMIT');
});

test('the trace of a GraphQL request contains its operation; concurrent requests do not mix, and a failed statement has its error code', async () => {
  const { key } = await gateway.createKey();
  const ids = Array.from({ length: 30 }, (_, index) => String(index).padStart(32, 'a'));
  // The first request writes the last use of the key, so that the others send the same statements.
  await gateway.graphql(key, '{ __typename }');
  await Promise.all(
    ids.map((traceId) =>
      gateway.graphql(
        key,
        '{ viewer { organization { sessions { nodes { id } } } } }',
        {},
        {
          traceparent: `00-${traceId}-${PARENT}-01`,
        },
      ),
    ),
  );
  const failed = await gateway.dependencies.tracing
    ?.span({ name: 'outer', kind: 'internal' }, () =>
      gateway.dependencies.sql.query(`select 'canary'::int from session`, []),
    )
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Error);
  const all = await spans();
  const trees = ids.map((id) =>
    tree(
      all.filter(({ traceId }) => traceId === id),
      PARENT,
    ),
  );
  // Concurrent requests share one statement that looks up their key. Only the trace of the first one contains it.
  const lookup = '  client SELECT api_key';
  expect(trees.filter((lines) => lines.includes(lookup))).not.toEqual([]);
  const others = trees.map((lines) => lines.filter((line) => line !== lookup));
  for (const lines of others) expect(lines).toEqual(others[0]);
  expect(others[0]?.slice(0, 2)).toEqual(['server POST graphql', '  internal query viewer']);
  expect(others[0]?.slice(2)).toContain('    client SELECT session');
  const statement = all.find(({ name, status }) => name === 'SELECT session' && status.code === 2);
  expect(attribute(statement, 'error.type')).toBe('22P02');
  expect(received.map((one) => one.text).join('')).not.toContain('canary');
});

test('a request to another server is a span with its host and status, which is the parent of what that server does', async () => {
  const { key } = await gateway.createKey();
  const seen: (string | undefined)[] = [];
  const remote = createServer((incoming, outgoing) => {
    seen.push(incoming.headers.traceparent?.toString());
    outgoing.writeHead(500).end();
  }).listen(0, '127.0.0.1');
  await once(remote, 'listening');
  const host = `127.0.0.1:${(remote.address() as AddressInfo).port}`;
  const { status } = await gateway.rest('POST', '/v1/mcp-connections', {
    key,
    body: { name: 'remote', serverUrl: `http://${host}/mcp?token=canary`, authType: 'oauth', scope: 'personal' },
    headers: traced,
  });
  remote.close();
  const all = await spans();
  const calls = all.filter(
    ({ traceId, attributes }) => traceId === TRACE && attributes.some(({ key: name }) => name === 'server.address'),
  );
  expect({ status, calls: calls.length > 0 }).toEqual({ status: 502, calls: true });
  const operation = all.find(({ traceId, name }) => traceId === TRACE && name === 'createMcpConnection');
  for (const call of calls) {
    expect(call.parentSpanId).toBe(operation?.spanId);
    expect([attribute(call, 'server.address'), attribute(call, 'http.response.status_code')]).toEqual([host, 500]);
  }
  expect(seen).toEqual(calls.map(({ spanId }) => `00-${TRACE}-${spanId}-01`));
  expect(received.map((one) => one.text).join('')).not.toContain('canary');
});

test('the call of a tool is a span of the conventions, made by the gateway or passed through, and the server gets it as its parent', async () => {
  const fixture = await useFixtureOf(gateway, '');
  const { peer, key, connectionId } = fixture;
  const seen: { header: string | undefined; meta: unknown }[] = [];
  const others = mcpHandler();
  peer.handler = (request, response) => {
    if (request.headers['mcp-method'] !== 'tools/call') return others(request, response);
    void text(request).then((body) => {
      const { id, params } = JSON.parse(body) as { id: number; params: { _meta?: { traceparent?: string } } };
      seen.push({ header: request.headers.traceparent?.toString(), meta: params._meta?.traceparent });
      const result = { resultType: 'complete', content: [], isError: true };
      answering(JSON.stringify({ jsonrpc: '2.0', id, result }))(request, response);
    });
  };
  const path = `/v1/mcp-connections/${connectionId}`;
  const made = await gateway.rest('POST', `${path}/tool-calls`, { key, body: { name: 'add' }, headers: traced });
  const headers = { ...modernHeaders('tools/call', 'add'), traceparent: `00-${TRACE}-${PARENT}-01` };
  const body = { ...toolCall('add'), params: { name: 'add', arguments: {}, _meta: MODERN_META } };
  const passed = await gateway.rest('POST', `${path}/mcp`, { key, body, headers });
  expect([made.status, passed.status]).toEqual([200, 200]);
  const ours = (await spans()).filter(({ traceId }) => traceId === TRACE);
  await fixture.stop();
  const calls = ours.filter(({ name }) => name === 'tools/call add');
  expect(calls).toHaveLength(2);
  for (const call of calls)
    expect(Object.fromEntries(call.attributes.map(({ key: name }) => [name, attribute(call, name)]))).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'add',
      'server.address': new URL(peer.origin).host,
    });
  expect(attribute(calls[0], 'error.type')).toBe('tool_error');
  const spanOf = (header: string | undefined) => ours.find(({ spanId }) => header === `00-${TRACE}-${spanId}-01`);
  expect(seen.map(({ header }) => spanOf(header)?.parentSpanId)).toEqual(calls.map(({ spanId }) => spanId));
  // A body that is passed through stays as it is.
  expect(seen.map(({ meta }) => meta)).toEqual([`00-${TRACE}-${calls[0]?.spanId}-01`, undefined]);
});

test('the span of a live tail ends when its answer begins; later reads are not traced', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const stream = await tail(gateway, key, id, { headers: traced });
  const ours = () => receivedSpans().filter(({ traceId }) => traceId === TRACE);
  // Only spans that have ended are sent, and that of the request is the last.
  await expect.poll(() => ours().at(-1)?.name).toBe('GET listSessionEvents');
  const ended = ours();
  gateway.statements.length = 0;
  await append(gateway, key, id, eventsOf(1));
  expect((await stream.nextData())?.id).toBe('1');
  expect(gateway.statements.filter((sql) => sql.includes('from "session_event" as "e"'))).not.toEqual([]);
  await stream.close();
  await spans();
  expect(ours()).toEqual(ended);
});

test('without a reachable collector, requests are answered, and the loss of traces is logged', async () => {
  await close();
  await open(0);
  collector.closeAllConnections();
  collector.close();
  const { key } = await gateway.createKey();
  expect((await gateway.rest('GET', '/events/2026-03/event-definitions', { key })).status).toBe(200);
  await close();
  expect(gateway.logged.join('')).toContain('traces not sent');
});
