import { randomBytes, randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { PRODUCT_FAMILIES } from '../../src/core/config.ts';
import { ROLES, SCOPES_OF_PEOPLE } from '../../src/core/access.ts';
import { storeSecret } from '../../src/core/secrets/secret-store.ts';
import { createSecretBox, parseEncryptionKeys } from '../../src/core/secrets/secrets.ts';
import { UsageError } from '../../src/operator/command-arguments.ts';
import { isLoginCommand, isPlanCommand } from '../../src/operator/command.ts';
import { parseCommandLine } from '../../src/operator/command-line.ts';
import { runCommand } from '../../src/operator/commands.ts';
import { startTestGateway, useOwnGateway } from '../support/fixtures/gateway.ts';
import { createSession } from '../support/fixtures/sessions.ts';

const gateway = useOwnGateway();

const silent = { progress: { write: () => undefined } };

/** Runs a command like the command line, on the database of the test. */
async function run(args: string, dependencies = gateway.dependencies): Promise<object> {
  const command = parseCommandLine(args.split(' '));
  if (command.name === 'help' || isPlanCommand(command) || isLoginCommand(command))
    throw new Error(`${command.name} is not a command`);
  return runCommand(dependencies, command, silent);
}

const issuedKey = z.strictObject({
  key: z.string().regex(/^wgk_[0-9A-Za-z]{36}$/),
  keyId: z.uuid(),
  userId: z.uuid(),
  organizationId: z.uuid().nullable(),
  role: z.enum(ROLES).nullable(),
  scopes: z.array(z.enum(SCOPES_OF_PEOPLE)),
  createdUser: z.boolean(),
  createdOrganization: z.boolean(),
});

const createKey = async (organization: string, options: string) =>
  issuedKey.parse(await run(`keys create --organization ${organization} ${options}`));

const query = (text: string, values: unknown[] = []) => gateway.dependencies.sql.query(text, values);

const keyState = (keyId: string) =>
  query(
    `select u.email, o.slug, m.role, k.scopes, k.revoked_at is not null as revoked from api_key k join user_account u on u.id = k.user_id
     join organization o on o.id = k.organization_id join membership m on m.organization_id = o.id and m.user_id = u.id where k.id = $1`,
    [keyId],
  );

test('seed creates the demo workspace once, and only in an empty database', async () => {
  const empty = await startTestGateway();
  onTestFinished(() => empty.close());
  const { key, ...demo } = issuedKey.parse(await run('seed', empty.dependencies));
  expect(demo).toMatchObject({ organizationId: null, role: null, createdUser: true, createdOrganization: true });
  // The key is unbound and acts in the only organization of its user.
  expect((await empty.graphql(key, '{ viewer { role organization { slug } } }')).data).toEqual({
    viewer: { role: 'ADMIN', organization: { slug: 'demo' } },
  });
  expect(await run('seed', empty.dependencies)).toEqual({ seeded: false, reason: 'the database is not empty' });

  const { data } = await empty.graphql<Demo>(
    key,
    `{ viewer { organization { sessions(first: 3) { nodes { state { current } events(last: 1) { nodes { databaseId eventData { type } } } } } } } }`,
  );
  expect(data?.viewer.organization.sessions.nodes).toEqual([
    {
      state: { current: 'IN_PROGRESS' },
      events: { nodes: [{ databaseId: 23, eventData: { type: 'assistant' } }] },
    },
    { state: { current: 'FAILED' }, events: { nodes: [{ databaseId: 7, eventData: { type: 'event_msg' } }] } },
    { state: { current: 'QUEUED' }, events: { nodes: [] } },
  ]);
});

interface Demo {
  readonly viewer: { organization: { sessions: { nodes: unknown[] } } };
}

test('keys create: the first user of a new organization becomes its administrator, the next a member; --role changes the role', async () => {
  const first = await createKey('acme', '--email Ann@Example.com');
  const next = await createKey('acme', '--email bob@example.com --scope sessions.read --scope api_keys.read');
  expect(await keyState(first.keyId)).toEqual([
    { email: 'ann@example.com', slug: 'acme', role: 'admin', scopes: [...SCOPES_OF_PEOPLE], revoked: false },
  ]);
  const ofBob = { email: 'bob@example.com', slug: 'acme', revoked: false };
  expect(await keyState(next.keyId)).toEqual([
    { ...ofBob, role: 'member', scopes: ['sessions.read', 'api_keys.read'] },
  ]);
  const raised = await createKey('acme', '--email bob@example.com --role admin --scope social');
  expect(await keyState(raised.keyId)).toEqual([{ ...ofBob, role: 'admin', scopes: ['social'] }]);
  const kept = await createKey('acme', '--email bob@example.com --scope social');
  expect(await keyState(kept.keyId)).toEqual([{ ...ofBob, role: 'admin', scopes: ['social'] }]);
  expect([next.organizationId, raised.userId, kept.userId]).toEqual([first.organizationId, next.userId, next.userId]);
});

test('keys create: the first user of a new organization becomes its administrator whatever --role says, and its last one remains', async () => {
  const first = await createKey('lone', '--email lone@example.com --role member --scope social');
  expect(first).toMatchObject({ role: 'admin', createdOrganization: true });
  await expect(run('keys create --organization lone --email lone@example.com --role member')).rejects.toThrow(
    new UsageError(
      'the organization must have at least one administrator; make another member an administrator first, or delete the organization',
    ),
  );
  await createKey('lone', '--email second@example.com --role admin');
  expect(await createKey('lone', '--email lone@example.com --role member')).toMatchObject({ role: 'member' });
  expect(await query('select count(*)::int as keys from api_key where user_id = $1', [first.userId])).toEqual([
    { keys: 2 },
  ]);
});

test('keys create takes a name and an expiry, which must be in the future', async () => {
  const { keyId } = await createKey('named', '--email named@example.com --name Runner --expires 12h');
  expect(
    await query('select name, (expires_at - created_at)::text as life from api_key where id = $1', [keyId]),
  ).toMatchObject([{ name: 'Runner', life: expect.stringMatching(/^(?:12:00:00|11:59:59)/) as string }]);
  await expect(
    run('keys create --organization named --email named@example.com --expires 2001-01-01T00:00:00Z'),
  ).rejects.toThrow(new UsageError('--expires: must be in the future'));
});

test.each(['keys', 'users', 'sessions'])('%s list names an organization that does not exist', async (noun) => {
  await expect(run(`${noun} list --organization nowhere`)).rejects.toThrow(
    new UsageError('organization nowhere not found'),
  );
});

test('keys create prints which user and organization it created, the role and the scopes', async () => {
  const made = await createKey('printing', '--email printing@example.com --scope social');
  expect(made).toMatchObject({ role: 'admin', scopes: ['social'], createdUser: true, createdOrganization: true });
  const again = await createKey('printing', '--email printing@example.com');
  expect(again).toMatchObject({
    role: 'admin',
    scopes: [...SCOPES_OF_PEOPLE],
    createdUser: false,
    createdOrganization: false,
  });
});

test('keys create without an organization creates an unbound key, which can act in each organization of its user', async () => {
  const unbound = issuedKey.parse(await run('keys create --email nomad@example.com'));
  expect(unbound).toMatchObject({ organizationId: null, role: null, createdUser: true, createdOrganization: false });
  const slugs = async () =>
    (await gateway.graphql(unbound.key, '{ viewer { organizations { nodes { slug } } } }')).data;
  expect(await slugs()).toEqual({ viewer: { organizations: { nodes: [] } } });
  await createKey('oasis', '--email nomad@example.com');
  expect(await slugs()).toEqual({ viewer: { organizations: { nodes: [{ slug: 'oasis' }] } } });
});

test('concurrent runs of keys create for one new organization create one organization with one administrator', async () => {
  const people = ['a', 'b', 'c', 'd'].map((name) => createKey('together', `--email ${name}@example.com`));
  const organizations = new Set((await Promise.all(people)).map(({ organizationId }) => organizationId));
  expect(organizations.size).toBe(1);
  expect(
    await query('select role, count(*)::int from membership where organization_id = $1 group by role order by role', [
      ...organizations,
    ]),
  ).toEqual([
    { role: 'admin', count: 1 },
    { role: 'member', count: 3 },
  ]);
});

test('keys extend: adds the scopes that a key lacks, by default all, at once and with an entry in the audit log', async () => {
  const { key, keyId, organizationId } = await createKey('extending', '--email eva@example.com --scope sessions.read');
  const status = async () => (await gateway.rest('GET', '/events/2026-03/event-definitions', { key })).status;
  expect(await status()).toBe(403);
  expect(await run(`keys extend ${keyId} --scope social --scope sessions.read`)).toEqual({
    keyId,
    scopes: ['sessions.read', 'social'],
    added: ['social'],
  });
  const others = SCOPES_OF_PEOPLE.filter((scope) => !['sessions.read', 'social'].includes(scope));
  expect(await run(`keys extend ${keyId}`)).toEqual({
    keyId,
    scopes: ['sessions.read', 'social', ...others],
    added: others,
  });
  expect(await status()).toBe(200);
  expect(await run(`keys extend ${keyId}`)).toMatchObject({ added: [] });
  expect(
    await query('select operation, target_id, detail from audit_entry where organization_id = $1 and operation = $2', [
      organizationId,
      'extendApiKey',
    ]),
  ).toEqual([
    { operation: 'extendApiKey', target_id: keyId, detail: 'social' },
    { operation: 'extendApiKey', target_id: keyId, detail: others.join(', ') },
  ]);
  await run(`keys revoke ${keyId}`);
  await expect(run(`keys extend ${keyId}`)).rejects.toThrow(new UsageError('API key not found'));
});

test('keys revoke: the key is refused afterwards, and it cannot be revoked again', async () => {
  const { key, keyId } = await createKey('revoking', '--email rita@example.com');
  const status = async () => (await gateway.rest('GET', '/events/2026-03/event-definitions', { key })).status;
  expect(await status()).toBe(200);
  expect(await run(`keys revoke ${keyId}`)).toEqual({ deleted: true, id: keyId });
  expect(await status()).toBe(401);
  expect(await keyState(keyId)).toEqual([expect.objectContaining({ revoked: true })]);
  await expect(run(`keys revoke ${keyId}`)).rejects.toThrow(new UsageError('API key not found'));
});

test('subscriptions set changes one product family, and requests are checked against it', async () => {
  const { key, organizationId } = await createKey('subscribing', '--email sam@example.com');
  const set = (family: string, level: string) =>
    run(`subscriptions set --organization subscribing --family ${family} --level ${level}`);
  const status = async () => (await gateway.rest('GET', '/events/2026-03/event-definitions', { key })).status;
  expect(await set('sales', 'enterprise')).toEqual({
    organizationId,
    subscriptions: { marketing: 'professional', sales: 'enterprise' },
  });
  expect(await status()).toBe(200);
  for (const family of PRODUCT_FAMILIES) await set(family, 'free');
  expect(await status()).toBe(403);
  await expect(run('subscriptions set --organization nowhere --family sales --level free')).rejects.toThrow(
    new UsageError('organization nowhere not found'),
  );
});

/** The rows of a list. */
async function list(args: string): Promise<Record<string, unknown>[]> {
  const answer = await run(args);
  const rows: Record<string, unknown>[] = [];
  for await (const row of answer as AsyncIterable<Record<string, unknown>>) rows.push(row);
  return rows;
}

test('keys list prints the newest keys first, of all organizations or one, and with --all also revoked and expired keys', async () => {
  const bound = await createKey('listed', '--email lena@example.com --scope social');
  const unbound = issuedKey.parse(await run('keys create --email lena@example.com'));
  const other = await createKey('listed', '--email lars@example.com');
  await run(`keys revoke ${other.keyId}`);
  const [row] = await list('keys list --organization listed');
  expect(row).toEqual({
    keyId: bound.keyId,
    preview: `${bound.key.slice(0, 8)}…${bound.key.slice(-2)}`,
    name: 'Created at the command line',
    email: 'lena@example.com',
    organization: 'listed',
    scopes: ['social'],
    createdAt: expect.stringMatching(/^20.*Z$/),
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  });
  const ids = async (args: string) => (await list(args)).map(({ keyId }) => keyId);
  expect(await ids('keys list --email Lena@example.com')).toEqual([unbound.keyId, bound.keyId]);
  expect(await ids('keys list --organization listed --all')).toEqual([other.keyId, bound.keyId]);
  expect(await ids('keys list --email lars@example.com')).toEqual([]);
  expect((await ids('keys list')).slice(0, 2)).toEqual([unbound.keyId, bound.keyId]);
});

test('organizations, users and sessions are listed with their ids, slugs and e-mail addresses', async () => {
  const { key, userId, organizationId } = await createKey('catalog', '--email cara@example.com');
  await createKey('catalog', '--email carl@example.com');
  await run('keys create --email nobody@example.com');
  expect((await list('organizations list'))[0]).toEqual({
    organizationId,
    slug: 'catalog',
    name: 'catalog',
    subscriptions: { marketing: 'professional' },
    createdAt: expect.any(String),
    members: 2,
  });
  expect((await list('users list --organization catalog'))[1]).toEqual({
    userId,
    email: 'cara@example.com',
    name: null,
    organizations: { catalog: 'admin' },
    createdAt: expect.any(String),
  });
  expect((await list('users list'))[0]).toMatchObject({ email: 'nobody@example.com', organizations: {} });
  const sessionId = await createSession(gateway, key, { title: 'Listed' });
  expect(await list('sessions list --organization catalog')).toEqual([
    {
      sessionId,
      organization: 'catalog',
      title: 'Listed',
      state: 'queued',
      visibility: 'private',
      creator: 'cara@example.com',
      createdAt: expect.any(String),
    },
  ]);
});

test('lists of more than one page are complete and have no duplicates', async () => {
  await query(
    `insert into user_account (id, email, created_at) select gen_random_uuid(), 'many' || n || '@example.com', now() + (n / 10) * interval '1 second'
      from generate_series(1, 2500) n`,
  );
  const emails = (await list('users list'))
    .map(({ email }) => String(email))
    .filter((email) => email.startsWith('many'));
  expect([emails.length, new Set(emails).size]).toEqual([2500, 2500]);
});

test('every command that changes something is recorded in the audit log without an API key', async () => {
  const { keyId, organizationId } = await createKey('audited', '--email ada@example.com');
  await run(`keys revoke ${keyId}`);
  for (const family of PRODUCT_FAMILIES)
    await run(`subscriptions set --organization audited --family ${family} --level free`);
  const [oldKey, newKey] = ['k1', 'k2'].map((id) => `${id}:${randomBytes(32).toString('base64')}`);
  const owner = { table: 'mcp_connection', id: randomUUID(), organizationId: organizationId ?? '' };
  const sealing = createSecretBox(parseEncryptionKeys(`${oldKey}`));
  await storeSecret(gateway.dependencies.database.em.fork(), sealing, owner, 'env:A', 'a secret');
  const secrets = createSecretBox(parseEncryptionKeys(`${newKey},${oldKey}`));
  const rotate = () => run('secrets rotate', { ...gateway.dependencies, secrets });
  expect(await rotate()).toEqual({ rotated: 1, answers: 0, keyId: 'k2' });
  // What changes nothing is not recorded.
  expect(await rotate()).toEqual({ rotated: 0, answers: 0, keyId: 'k2' });
  await run(`subscriptions set --organization audited --family ${PRODUCT_FAMILIES[0]} --level free`);
  const entries = await query(
    `select operation, target_type as type, target_id as target, count(*)::int from audit_entry
      where source = 'command_line' and key_id is null and (organization_id = $1 or target_type = 'Secret')
      group by 1, 2, 3 order by min(occurred_at)`,
    [organizationId],
  );
  expect(entries).toEqual([
    { operation: 'createApiKey', type: 'ApiKey', target: keyId, count: 1 },
    { operation: 'revokeApiKey', type: 'ApiKey', target: keyId, count: 1 },
    { operation: 'setSubscription', type: 'Organization', target: organizationId, count: PRODUCT_FAMILIES.length },
    { operation: 'rotateSecrets', type: 'Secret', target: null, count: 1 },
  ]);
});

test('seed creates only the data that DEFAULT_SUBSCRIPTION allows', async () => {
  const other = await startTestGateway({ DEFAULT_SUBSCRIPTION: 'sales:free' });
  try {
    issuedKey.parse(await run('seed', other.dependencies));
    const count = async (table: string) => {
      const [row] = await other.dependencies.sql.query<{ count: number }>(`select count(*) as count from ${table}`, []);
      return row?.count;
    };
    expect(await count('event_definition')).toBe(0);
    expect(await count('session')).toBeGreaterThan(0);
  } finally {
    await other.close();
  }
});
