import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { Caller } from './baseline-core.ts';
import { authenticate, baseline } from './baseline-database.ts';
import { graphqlDefinition, graphqlDefinitions, graphqlSearch, restDefinition } from './baseline-definitions.ts';
import { graphqlEvents, restEvents, typedData } from './baseline-events.ts';
import { type Changes, graphqlUpdate, restUpdate } from './baseline-session-update.ts';
import { passOn } from './baseline-proxy.ts';
import { serve } from './serve.ts';
import { graphqlSessions, graphqlSessionsInPart } from './baseline-sessions.ts';

/**
 * The baseline: the same answers with node:http, node-postgres, prepared statements and JSON.stringify, and nothing
 * else. It checks the key on every request and trusts all other input; it has no limits, no log and no schema.
 */

const { MCP_SERVER = '' } = process.env;

/** Documents are identified by their operation names; nothing of GraphQL is implemented. */
function execute(caller: Caller, { operationName, variables }: Body): Promise<object> | object {
  switch (operationName) {
    case 'Typename':
      return { __typename: 'Query' };
    case 'EventsJson':
      return graphqlEvents(baseline, caller, variables, ({ eventData }) => ({ eventDataJson: eventData }));
    case 'EventsTyped':
      return graphqlEvents(baseline, caller, variables, typedData);
    case 'Sessions':
      return graphqlSessions(baseline, caller);
    case 'SessionsInPart':
      return graphqlSessionsInPart(baseline, caller);
    case 'Definition':
      return graphqlDefinition(baseline, caller, variables);
    case 'Search':
      return graphqlSearch(baseline, caller, variables);
    case 'Definitions':
      return graphqlDefinitions(baseline, caller);
    case 'UpdateSession':
      return graphqlUpdate(baseline, caller, variables);
    default:
      throw new Error(`the baseline does not know ${operationName}`);
  }
}

async function answerRest(
  caller: Caller,
  method: string | undefined,
  url: string,
  request: IncomingMessage,
): Promise<object | undefined> {
  const { pathname, searchParams } = new URL(url, 'http://baseline');
  const [, , first = '', second = '', third] = pathname.split('/');
  if (first === 'sessions' && method === 'PATCH') return restUpdate(baseline, caller, second, await bodyOf(request));
  if (first === 'sessions' && third === 'events') return restEvents(baseline, caller, second, searchParams);
  return restDefinition(baseline, caller, third ?? '');
}

interface Body extends Changes {
  readonly operationName: string;
  /** Sent by the benchmark and trusted. */
  readonly variables: {
    id: string;
    after: string;
    name: string;
    search: string;
    input: Changes & { sessionId: string };
  };
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function answer(request: IncomingMessage): Promise<object | undefined> {
  const caller = await authenticate(request.headers.authorization ?? '');
  if (!caller) return undefined;
  const { method, url = '' } = request;
  return url === '/graphql'
    ? { data: await execute(caller, await bodyOf(request)) }
    : answerRest(caller, method, url, request);
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    if (request.url?.startsWith('/v1/mcp-connections/')) {
      const caller = await authenticate(request.headers.authorization ?? '');
      return void (caller ? await passOn(request, response, MCP_SERVER) : response.writeHead(401).end());
    }
    const body = await answer(request);
    const text = JSON.stringify(body ?? { error: 'not found' });
    response
      .writeHead(body ? 200 : 404, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
      .end(text);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

serve(createServer((request, response) => void handle(request, response)));
