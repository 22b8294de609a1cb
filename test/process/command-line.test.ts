import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { PRODUCT_FAMILIES } from '../../src/core/config.ts';
import { SCOPES } from '../../src/core/operation.ts';
import { query } from '../support/processes/embedded-postgres.ts';
import {
  type Finished,
  call,
  cli,
  endProcesses,
  freshDatabase,
  run,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';

afterEach(endProcesses);

const oneLine = (text: string): unknown => {
  expect(text).toMatch(/^[^\n]+\n$/);
  return JSON.parse(text);
};
const issuedKey = z.strictObject({
  key: z.string().regex(/^wgk_[0-9A-Za-z]{36}$/),
  keyId: z.uuid(),
  userId: z.uuid(),
  organizationId: z.uuid(),
});

/** The answer of a command that must succeed and say nothing else. */
function answerOf({ code, stdout, stderr }: Finished): unknown {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return oneLine(stdout);
}
const keyOf = (finished: Finished) => issuedKey.parse(answerOf(finished));

const keyState = (url: string, keyId: string) =>
  query(
    url,
    `select u.email, o.slug, m.role, k.scopes, k.revoked_at is not null as revoked from api_key k join user_account u on u.id = k.user_id
     join organization o on o.id = k.organization_id join membership m on m.organization_id = o.id and m.user_id = u.id where k.id = '${keyId}'`,
  );

describe('on a database of its own, with no server', () => {
  let env: { DATABASE_URL: string; ENCRYPTION_KEYS: string };

  beforeEach(async () => {
    env = await freshDatabase(inject('serverUrl'));
  });

  test('migrate, again migrate, seed, again seed', async () => {
    expect(answerOf(await cli(['migrate'], env))).toEqual({ migrated: true });
    expect(answerOf(await cli(['migrate'], env))).toEqual({ migrated: true });
    issuedKey.parse(answerOf(await cli(['seed'], env)));
    expect(answerOf(await cli(['seed'], env))).toEqual({ seeded: false, reason: 'the database is not empty' });
  });

  test('keys create makes user and organization; the first is admin, the next a member; a role stays unless it is given', async () => {
    const create = async (...args: string[]) =>
      keyOf(await cli(['keys', 'create', '--organization', 'acme', ...args], env));
    const first = await create('--email', 'Ann@Example.com');
    const next = await create('--email', 'bob@example.com', '--scope', 'sessions.read', '--scope', 'api_keys.read');
    const raised = await create('--email', 'bob@example.com', '--role', 'admin', '--scope', 'social');
    const kept = await create('--email', 'bob@example.com', '--scope', 'social');
    expect([next.organizationId, raised.userId, kept.userId]).toEqual([first.organizationId, next.userId, next.userId]);
    expect(
      (await Promise.all([first, next, raised, kept].map(({ keyId }) => keyState(env.DATABASE_URL, keyId)))).flat(),
    ).toEqual([
      { email: 'ann@example.com', slug: 'acme', role: 'admin', scopes: [...SCOPES], revoked: false },
      {
        email: 'bob@example.com',
        slug: 'acme',
        role: 'admin',
        scopes: ['sessions.read', 'api_keys.read'],
        revoked: false,
      },
      { email: 'bob@example.com', slug: 'acme', role: 'admin', scopes: ['social'], revoked: false },
      { email: 'bob@example.com', slug: 'acme', role: 'admin', scopes: ['social'], revoked: false },
    ]);
    const outsider = await create('--email', 'eve@example.com');
    expect(await keyState(env.DATABASE_URL, outsider.keyId)).toEqual([
      { email: 'eve@example.com', slug: 'acme', role: 'member', scopes: [...SCOPES], revoked: false },
    ]);
  });

  test('keys create, many at once for one new organization: one organization, one admin', async () => {
    const people = ['a', 'b', 'c', 'd'].map((name) =>
      cli(['keys', 'create', '--email', `${name}@example.com`, '--organization', 'together'], env),
    );
    const keys = (await Promise.all(people)).map(keyOf);
    expect(new Set(keys.map(({ organizationId }) => organizationId)).size).toBe(1);
    expect(
      await query(env.DATABASE_URL, 'select role, count(*)::int from membership group by role order by role'),
    ).toEqual([
      { role: 'admin', count: 1 },
      { role: 'member', count: 3 },
    ]);
  });

  test('keys revoke, subscriptions set, secrets rotate', async () => {
    const key = keyOf(await cli(['keys', 'create', '--email', 'a@example.com', '--organization', 'acme'], env));
    expect(answerOf(await cli(['keys', 'revoke', key.keyId], env))).toEqual({ deleted: true, id: key.keyId });
    expect(await cli(['keys', 'revoke', key.keyId], env)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'API key not found, or revoked already\n',
    });
    expect(await keyState(env.DATABASE_URL, key.keyId)).toEqual([expect.objectContaining({ revoked: true })]);

    const set = (family: string, level: string) =>
      cli(['subscriptions', 'set', '--organization', 'acme', '--family', family, '--level', level], env);
    expect(answerOf(await set('sales', 'enterprise'))).toEqual({
      organizationId: key.organizationId,
      subscriptions: { marketing: 'professional', sales: 'enterprise' },
    });
    for (const family of PRODUCT_FAMILIES) answerOf(await set(family, 'free'));

    const ENCRYPTION_KEYS = `k2:${randomBytes(32).toString('base64')},${env.ENCRYPTION_KEYS}`;
    expect(answerOf(await cli(['secrets', 'rotate'], { ...env, ENCRYPTION_KEYS }))).toEqual({
      rotated: 0,
      answers: 0,
      keyId: 'k2',
    });

    const entries = await query(
      env.DATABASE_URL,
      `select operation, target_type as type, target_id as target, organization_id as organization, count(*)::int from audit_entry
        where source = 'command_line' and key_id is null group by 1, 2, 3, 4 order by min(occurred_at)`,
    );
    const organization = key.organizationId;
    const ofKey = { type: 'ApiKey', target: key.keyId, organization, count: 1 };
    expect(entries).toEqual([
      { operation: 'createApiKey', ...ofKey },
      { operation: 'revokeApiKey', ...ofKey },
      {
        operation: 'setSubscription',
        type: 'Organization',
        target: organization,
        organization,
        count: 1 + PRODUCT_FAMILIES.length,
      },
      { operation: 'rotateSecrets', type: 'Secret', target: null, organization: null, count: 1 },
    ]);
  });

  test.for([
    [['keys', 'create', '--organization', 'acme'], '--email: is required'],
    [['keys', 'create', '--email', 'a@example.com'], '--organization: is required'],
    [['keys', 'create', '--email', 'nobody', '--organization', 'acme'], '--email: must be an e-mail address'],
    [
      ['keys', 'create', '--email', 'a@example.com', '--organization', 'Not A Slug'],
      expect.stringMatching(/^--organization: must be a slug: /),
    ],
    [
      ['keys', 'create', '--email', 'a@example.com', '--organization', 'acme', '--role', 'owner'],
      '--role: must be one of admin, member',
    ],
    [
      ['keys', 'create', '--email', 'a@example.com', '--organization', 'acme', '--scope', 'everything'],
      expect.stringMatching(/^--scope: must be one of mcp_connections\.read, /),
    ],
    [['keys', 'create', '--colour', 'red'], "Unknown option '--colour'"],
    [['keys', 'create', 'extra', '--email', 'a@example.com', '--organization', 'acme'], "unexpected argument 'extra'"],
    [['keys', 'revoke'], 'ID: is required'],
    [['keys', 'revoke', 'nonsense'], 'ID: must be the id of an API key'],
    [['keys', 'revoke', '--', '-'.repeat(36)], 'ID: must be the id of an API key'],
    [
      ['subscriptions', 'set', '--organization', 'nowhere', '--family', 'sales', '--level', 'free'],
      'organization nowhere not found',
    ],
    [
      ['subscriptions', 'set', '--organization', 'acme', '--family', 'sails', '--level', 'free'],
      expect.stringMatching(/^--family: must be one of marketing, /),
    ],
    [
      ['subscriptions', 'set', '--organization', 'acme', '--family', 'sales', '--level', 'gold'],
      expect.stringMatching(/^--level: must be one of free, /),
    ],
    [['migrate', 'now'], "unexpected argument 'now'"],
    [['keys', 'destroy'], "unknown command 'keys destroy'; --help lists them"],
    [['constructor'], "unknown command 'constructor'; --help lists them"],
  ] as const)('%s is refused in one line', async ([args, message]) => {
    const { code, stdout, stderr } = await cli(args, env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n')).toEqual([message, '']);
  });
});

test('without a command: the usage, and status 1; with --help status 0', async () => {
  const asked = await cli(['--help'], {});
  expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 0, stderr: '' });
  expect(await cli([], {})).toEqual({ code: 1, stdout: '', stderr: asked.stdout });
  expect(asked.stdout).toMatchInlineSnapshot(`
    "Usage: npm run --silent cli -- <command>

      migrate                                      bring the database up to this version
      keys create --email E --organization SLUG    issue an API key; creates user and organization when absent
           [--role admin|member] [--scope S]...
      keys revoke ID                               revoke an API key
      subscriptions set --organization SLUG        change what an organization has subscribed to
           --family marketing|sales|service|content|data|revenue
           --level free|starter|professional|enterprise
      events import --session ID FILE.ndjson       append the events of a file to a session; run again, it goes on where it was
      secrets rotate                               encrypt every secret and stored answer under the first key of ENCRYPTION_KEYS
      seed                                         create the demo workspace in an empty database
    "
  `);
});

test('the embedded database: with no server, beside a running one, and through npm', async () => {
  const DATA_DIR = await temporaryDirectory();
  const before = keyOf(
    await cli(['keys', 'create', '--email', 'a@example.com', '--organization', 'acme'], { DATA_DIR }),
  );
  const gateway = await startGateway({ DATA_DIR });
  expect((await call(gateway.url, before.key, 'GET', '/events/2026-03/event-definitions')).status).toBe(200);

  const npm = await run(
    ['npm', 'run', '--silent', 'cli', '--', 'keys', 'create', '--email', 'b@example.com', '--organization', 'acme'],
    { DATA_DIR },
  );
  const beside = keyOf(npm);
  const revoked = await cli(['keys', 'revoke', before.keyId], { DATA_DIR });
  expect(answerOf(revoked)).toEqual({ deleted: true, id: before.keyId });
  expect((await call(gateway.url, before.key, 'GET', '/events/2026-03/event-definitions')).status).toBe(401);
  expect((await call(gateway.url, beside.key, 'GET', '/events/2026-03/event-definitions')).status).toBe(200);

  const level = async (value: string) => {
    answerOf(
      await cli(['subscriptions', 'set', '--organization', 'acme', '--family', 'marketing', '--level', value], {
        DATA_DIR,
      }),
    );
    return (await call(gateway.url, beside.key, 'GET', '/events/2026-03/event-definitions')).status;
  };
  expect([await level('free'), await level('enterprise')]).toEqual([403, 200]);
  expect(answerOf(await cli(['secrets', 'rotate'], { DATA_DIR }))).toEqual({
    rotated: 0,
    answers: 0,
    keyId: expect.any(String),
  });
  expect(await gateway.end('SIGTERM')).toBe(0);
});
