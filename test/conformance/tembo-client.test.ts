import Tembo from '@tembo-io/sdk';
import { beforeAll, expect, test } from 'vitest';
import { startServedGateway } from '../support/fixtures/served-gateway.ts';
import { proof } from '../support/proof.ts';

/**
 * The npm client of the workspace API, configured only with a key and a base address. Its typed methods are for other paths; its generic
 * methods (`client.get`, `client.post` …) can call every documented path.
 */

const gateway = await startServedGateway();
let client: Tembo;
let keyId: string;
beforeAll(async () => {
  const issued = await gateway.createKey();
  keyId = issued.keyId;
  client = new Tembo({ apiKey: issued.key, baseURL: gateway.url });
});

interface Session {
  readonly id: string;
  readonly title: string;
  readonly level: number;
}
interface List<Item> {
  readonly items: Item[];
  readonly nextCursor: string | null;
}

test('creates, lists, reads, changes and deletes', async () => {
  const organization = await client.post<{ name: string; memberCount: number }>('/v1/organizations', {
    body: { name: 'By the npm client' },
  });
  expect(organization).toMatchObject({ name: 'By the npm client', memberCount: 1 });

  const { connection } = await client.post<{ connection: { id: string } }>('/v1/mcp-connections', {
    body: { type: 'stdio', name: 'Local', command: 'npx' },
  });
  const path = `/v1/mcp-connections/${connection.id}`;
  expect(await client.get(path)).toEqual(connection);
  expect(await client.patch(path, { body: { name: 'Renamed' } })).toMatchObject({ name: 'Renamed' });

  const session = await client.post<Session>('/v1/sessions', { body: { title: 'One', mcpServers: ['Renamed'] } });
  expect(await client.patch(`/v1/sessions/${session.id}`, { body: { level: 7 } })).toMatchObject({
    level: 7,
    mcpServers: [connection.id],
  });
  const sessions = await client.get<List<Session>>('/v1/sessions', { query: { limit: 5, title: 'one' } });
  expect(sessions).toMatchObject({ items: [{ id: session.id, level: 7 }], nextCursor: null });

  const events = [1, 2, 3].map((index) => ({
    eventType: 'text',
    provider: 'anthropic',
    eventData: { type: 'text', index },
  }));
  await client.post(`/v1/sessions/${session.id}/events`, { body: { events } });
  const ids: number[] = [];
  for (let cursor = '0'; ;) {
    const page = await client.get<{ items: { id: number }[]; nextCursor: string }>(
      `/v1/sessions/${session.id}/events`,
      { query: { limit: 2, cursor } },
    );
    if (page.items.length === 0) break;
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(ids).toEqual([1, 2, 3]);

  await client.delete(path, { headers: { Accept: '*/*' } });
  expect((await client.get<List<object>>('/v1/mcp-connections')).items).toEqual([]);
});

test('throws its own error types, with the message of the gateway', async () => {
  const missing = client.get('/v1/sessions/00000000-0000-4000-8000-000000000000');
  await expect(missing).rejects.toBeInstanceOf(Tembo.NotFoundError);
  await expect(missing).rejects.toMatchObject({ error: { error: 'session not found' } });
  const wrong = client.post('/v1/organizations', { body: {} });
  await expect(wrong).rejects.toBeInstanceOf(Tembo.BadRequestError);
  await expect(wrong).rejects.toMatchObject({ error: { error: 'name: is required' } });
  const stranger = new Tembo({ apiKey: 'wgk_nothing', baseURL: gateway.url });
  await expect(stranger.get('/v1/sessions')).rejects.toBeInstanceOf(Tembo.AuthenticationError);
});

test('a write is not executed again when the client retries it after a conflict', async () => {
  const create = () => client.post('/v1/organizations', { body: { name: 'Twice', slug: 'twice' }, maxRetries: 1 });
  await create();
  await expect(create()).rejects.toMatchObject({ status: 409 });
  const created = await gateway.dependencies.sql.query('select 1 from organization where slug = $1', ['twice']);
  expect(created).toHaveLength(1);
});

test('revokes its own key, which is then refused', async () => {
  expect(await client.delete(`/v1/api-keys/${keyId}`)).toEqual({ deleted: true, id: keyId });
  await expect(client.get('/v1/sessions')).rejects.toMatchObject({ status: 401 });
  proof('npm client @tembo-io/sdk (generic calls)', { figures: { 'paths used': 8, patched: 'nothing' } });
});
