import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';

/** What the gateway itself refuses at addresses for messages of MCP clients is a JSON-RPC error with the id of the message. */

const gateway = useOwnGateway({ RATE_LIMIT_PER_MINUTE: '2' });

const ADDRESSES = [
  '/mcp',
  `/v1/mcp-connections/${randomUUID()}/mcp`,
  `/v1/sessions/${randomUUID()}/mcp`,
  `/v1/sessions/${randomUUID()}/mcp/`,
];

async function post(path: string, key: string, id?: unknown) {
  const answer = await gateway.fetch(path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), method: 'tools/list' }),
  });
  const { error, ...rest } = JSON.parse(await answer.text()) as { error: { data: { code: string } } };
  return { status: answer.status, retryAfter: answer.headers.get('Retry-After'), code: error.data.code, ...rest };
}

test.each(ADDRESSES)('%s: 429 with the id of the message', async (path) => {
  const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
  // All in one minute.
  gateway.setClock(new Date());
  for (let count = 0; count < 2; count += 1) await gateway.rest('GET', '/v1/users/me', { key });
  for (const id of [0, 'x'.repeat(300), undefined])
    expect(await post(path, key, id)).toEqual({
      status: 429,
      retryAfter: expect.stringMatching(/^\d+$/),
      code: 'RATE_LIMITED',
      jsonrpc: '2.0',
      id: id ?? null,
    });
});

test.each(ADDRESSES)('%s: without a key nothing is read, so that 401 has no id', async (path) => {
  expect(await post(path, 'wgk_wrong', 4)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED', id: null });
});

test.each(ADDRESSES.slice(1))('%s: 403 for a key without the scope', async (path) => {
  const { key } = await gateway.createKey({ scopes: ['sessions.read'] });
  expect(await post(path, key, 4)).toMatchObject({ status: 403, code: 'FORBIDDEN', id: 4 });
});
