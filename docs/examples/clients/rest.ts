// npx openapi-typescript http://127.0.0.1:4000/openapi.json --output generated/openapi.ts
import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './generated/openapi.ts';

export type Rest = Client<paths>;

export function createRest(baseUrl: string, key: string): Rest {
  const rest = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` }, fetch: fetchWithRetries });
  rest.use({
    onRequest({ request }) {
      // With an idempotency key, a retried write is executed only once.
      if (request.method !== 'GET' && !request.headers.has('Idempotency-Key'))
        request.headers.set('Idempotency-Key', crypto.randomUUID());
      return request;
    },
  });
  return rest;
}

const MAX_ATTEMPTS = 5;
/** Too many requests, internal error, failed remote server, temporarily unavailable. Other 4xx answers would be the same again. */
const RETRIED = [429, 500, 502, 503];

async function fetchWithRetries(request: Request): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(request.clone()).catch((error: unknown) => {
      if (attempt >= MAX_ATTEMPTS) throw error;
    });
    if (response && (attempt >= MAX_ATTEMPTS || !RETRIED.includes(response.status))) return response;
    const seconds = Number(response?.headers.get('Retry-After') ?? 0.2 * 2 ** attempt);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** Every session that the caller can read. The last page has no `nextCursor`. */
export async function* allSessions(rest: Rest, limit: number) {
  let cursor: string | undefined;
  do {
    const { data, error } = await rest.GET('/v1/sessions', { params: { query: { limit, cursor } } });
    if (error) throw new Error(error.error);
    yield* data.items;
    cursor = data.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

/** The stored events of a session. All pages except the last have a `Link` header. Poll with the last `nextCursor` for new events. */
export async function* storedEvents(rest: Rest, sessionId: string, limit: number) {
  for (let cursor = '0'; ;) {
    const { data, error, response } = await rest.GET('/v1/sessions/{sessionId}/events', {
      params: { path: { sessionId }, query: { cursor, limit } },
    });
    if (error) throw new Error(error.error);
    // With another `Accept` it would be a stream.
    if (typeof data === 'string') throw new Error('not JSON');
    yield* data.items;
    cursor = data.nextCursor;
    if (!response.headers.has('Link')) return;
  }
}

/** Reads a session, changes it, and sends it back. */
export async function raiseLevel(rest: Rest, sessionId: string) {
  const at = { params: { path: { sessionId } } };
  const read = await rest.GET('/v1/sessions/{sessionId}', at);
  if (read.error) throw new Error(read.error.error);
  const { title, description, level, mcpServers } = read.data;
  const body = { title, description, mcpServers, level: level + 1 };
  const changed = await rest.PATCH('/v1/sessions/{sessionId}', { ...at, body });
  if (changed.error) throw new Error(changed.error.error);
  return changed.data.level;
}
