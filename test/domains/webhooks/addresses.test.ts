import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { encryptAddresses } from '../../../src/domains/webhooks/secrets.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import { callWebhooks, createWebhook, deliver, logOf, readWebhook, receive } from '../../support/fixtures/webhooks.ts';

/** Addresses are secrets, and ids of messages random, also for webhooks of earlier versions, once none of their processes is left. */

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
const query = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);

const URL = 'https://example.com/hooks/very-secret-token?k=1234';

const older: pg.Client[] = [];
afterEach(async () => {
  await query('insert into finished_version (version, finished_at) values ($1, now()) on conflict do nothing', '1.1.0');
  await Promise.all(older.splice(0).map((client) => client.end()));
});

/** Connects a process of 1.0. */
async function connectOlder(): Promise<void> {
  // Behind a pooler the operator says that none is left.
  await query('delete from finished_version');
  const client = new pg.Client({ connectionString: gateway.databaseUrl, application_name: 'gateway listener' });
  older.push(client);
  await client.connect();
}

async function disconnectOlder(): Promise<void> {
  await query('insert into finished_version (version, finished_at) values ($1, now())', '1.1.0');
  await Promise.all(older.splice(0).map((client) => client.end()));
  await expect.poll(() => gateway.dependencies.hasOlderProcess('1.1.0')).toBe(false);
}

const encrypt = () => encryptAddresses({ ...workContext(gateway.dependencies), signal: new AbortController().signal });
const stored = async (id: string) =>
  (
    await query<{ row: string; sealed: string | null }>(
      `select w::text as row, (select string_agg(sealed, ' ') from secret where owner_id = w.id) as sealed from webhook w where id = $1`,
      id,
    )
  )[0];
const organizationIdOf = async (key: string) =>
  (await gateway.rest<{ items: { id: string }[] }>('GET', '/v1/organizations', { key })).body.items[0]?.id ?? '';
const messagesOf = async (id: string, key: string) => (await logOf(gateway, key, id)).map(({ messageId }) => messageId);

test('an address is in no column as text, also after a change, and is answered by both APIs with its label', async () => {
  const { key } = await gateway.createKey();
  const { id } = await createWebhook(gateway, key, URL);
  expect(JSON.stringify(await stored(id))).not.toMatch(/secret-token|hooks/);
  const label = 'example.com/…1234';
  expect(await readWebhook(gateway, key, id)).toMatchObject({ url: URL, addressLabel: label });
  expect((await callWebhooks<{ items: object[] }>(gateway, key, 'GET')).body.items).toMatchObject([
    { url: URL, addressLabel: label },
  ]);
  const changed = `${URL}5`;
  const { webhook } = await mutate<{ webhook: object }>(
    gateway,
    key,
    'updateWebhook',
    { webhookId: id, url: changed },
    'webhook { url addressLabel }',
  );
  expect(webhook).toEqual({ url: changed, addressLabel: 'example.com/…2345' });
  expect(JSON.stringify(await stored(id))).not.toMatch(/secret-token|hooks/);
  const read = (fields: string) =>
    gateway.graphql<{ viewer: { organization: { webhooks: { nodes: object[] } } } }>(
      key,
      `{ viewer { organization { webhooks { nodes { ${fields} } } } } }`,
    );
  for (const [fields, answer] of Object.entries({
    url: { url: changed },
    addressLabel: { addressLabel: 'example.com/…2345' },
    'url addressLabel': { url: changed, addressLabel: 'example.com/…2345' },
  }))
    expect((await read(fields)).data?.viewer.organization.webhooks.nodes).toEqual([answer]);
  expect(gateway.logged.join('')).not.toContain('secret-token');
});

test('an address of a host alone, and with a port, has a label without a rest', async () => {
  const { key } = await gateway.createKey();
  const labels: Record<string, string> = {
    'https://example.com': 'example.com',
    'https://example.com/': 'example.com',
    'https://example.com:8443/ab': 'example.com:8443/…/ab',
    'https://example.com/?key=abcdef': 'example.com/…cdef',
  };
  for (const [url, addressLabel] of Object.entries(labels)) {
    const { id } = await createWebhook(gateway, key, url);
    expect(await readWebhook(gateway, key, id)).toMatchObject({ addressLabel });
  }
});

test('while a process of 1.0 is connected, it finds the address where it was; the job then encrypts it', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  await connectOlder();
  const url = `${receiver.url}/other`;
  expect((await callWebhooks(gateway, key, 'PATCH', `/${id}`, { url })).status).toBe(200);
  await encrypt();
  expect(await query('select url from webhook where id = $1', id)).toEqual([{ url }]);
  expect(await readWebhook(gateway, key, id)).toMatchObject({ url, addressLabel: expect.stringMatching(/…ther$/) });
  await disconnectOlder();
  await encrypt();
  expect(JSON.stringify(await stored(id))).not.toContain('/other');
  expect(await readWebhook(gateway, key, id)).toMatchObject({ url, addressLabel: expect.stringMatching(/…ther$/) });
  await createSession(gateway, key);
  await deliver(gateway);
  expect(receiver.received).toHaveLength(1);
});

test('ids are random, and the same in each try, replay and redelivery; a restored feed repeats none', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id } = hook;
  await createSession(gateway, key);
  await deliver(gateway);
  const [first] = await logOf(gateway, key, id);
  expect(first?.messageId).toMatch(/^msg_[0-9a-f]{32}$/);
  await callWebhooks(gateway, key, 'POST', `/${id}/deliveries/${first?.id}/redeliver`);
  await callWebhooks(gateway, key, 'POST', `/${id}/replay`, { after: (first?.feedEntryId ?? 0) - 1 });
  await deliver(gateway);
  expect(await messagesOf(id, key)).toEqual([first?.messageId, first?.messageId, first?.messageId]);
  // As after a restore of a backup from before the entry.
  const organizationId = await organizationIdOf(key);
  await query('delete from feed_entry where organization_id = $1 and id = $2', organizationId, first?.feedEntryId);
  await query('update feed_stream set last_id = last_id - 1 where organization_id = $1', organizationId);
  await query('update webhook set cursor = cursor - 1 where id = $1', id);
  await createSession(gateway, key);
  await deliver(gateway);
  const log = await logOf(gateway, key, id);
  expect(log.at(-1)).toMatchObject({ feedEntryId: first?.feedEntryId, state: 'succeeded' });
  expect(log.at(-1)?.messageId).not.toBe(first?.messageId);
});

test('beside a process of 1.0 messages have its ids; those that were tried keep them afterwards, the next ones are random', async () => {
  const { key } = await gateway.createKey();
  await using hook = await receive(gateway, key, { types: ['session.created'] });
  const { id, receiver } = hook;
  await connectOlder();
  await createSession(gateway, key);
  await deliver(gateway);
  receiver.answer = (_, response) => response.writeHead(500).end();
  await createSession(gateway, key);
  await deliver(gateway);
  const [sent, failed] = await logOf(gateway, key, id);
  expect(failed?.messageId).toMatch(new RegExp(`^msg_[0-9a-f]{32}_${failed?.feedEntryId}$`));
  await disconnectOlder();
  receiver.answer = (_, response) => response.writeHead(204).end();
  await createSession(gateway, key);
  await callWebhooks(gateway, key, 'POST', `/${id}/try`);
  await deliver(gateway);
  await callWebhooks(gateway, key, 'POST', `/${id}/deliveries/${sent?.id}/redeliver`);
  await deliver(gateway);
  const [, , again, next, redelivered] = await logOf(gateway, key, id);
  expect([again?.messageId, redelivered?.messageId]).toEqual([failed?.messageId, sent?.messageId]);
  expect(next?.messageId).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(receiver.received.map((message) => message.id)).toEqual(
    [sent, failed, again, next, redelivered].map((each) => each?.messageId),
  );
});

test('an export has the whole address for keys that may change it, and its label for others', async () => {
  const { key, organization } = await gateway.createKey();
  await createWebhook(gateway, key, URL);
  const other = await gateway.createKey({
    organization,
    role: 'admin',
    scopes: ['organizations.write', 'sessions.read'],
  });
  const path = `/v1/organizations/${await organizationIdOf(key)}/export`;
  const lineOf = async (by: string) => {
    const text = await (await gateway.fetch(path, { headers: { Authorization: `Bearer ${by}` } })).text();
    return JSON.parse(text.split('\n').find((line) => line.includes('"kind":"webhook"')) ?? '{}') as object;
  };
  const addressLabel = 'example.com/…1234';
  expect(await lineOf(key)).toMatchObject({ url: URL, addressLabel });
  expect(await lineOf(other.key)).toMatchObject({ url: null, addressLabel });
});
