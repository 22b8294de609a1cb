import { setImmediate } from 'node:timers/promises';
import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, inject, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../../src/core/postgres/connections.ts';
import { sqlWithin } from '../../../src/core/postgres/reading/sql.ts';
import { entities } from '../../../src/gateway/modules.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { onServer } from '../../support/global-setup.ts';
import { startTcpProxy } from '../../support/peers/tcp-proxy.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

test('times are returned in UTC, whatever the time zone of the database is', async () => {
  const name = new URL(gateway.databaseUrl).pathname.slice(1);
  await onServer(inject('serverUrl'), `alter database ${name} set timezone = 'Asia/Kolkata'`);
  gateway.setClock(new Date('2026-03-01T10:20:30.500Z'));
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const { data } = await gateway.graphql(
    key,
    '{ viewer { organization { sessions(first: 1) { nodes { databaseId createdAt } } } } }',
  );
  expect(data).toEqual({
    viewer: { organization: { sessions: { nodes: [{ databaseId: id, createdAt: '2026-03-01T10:20:30.500Z' }] } } },
  });
});

test('a gateway that has only read is closed with all its connections', async () => {
  const { key } = await gateway.createKey();
  const reader = await startTestGateway({}, { beside: gateway });
  expect((await reader.rest('GET', '/v1/sessions', { key })).status).toBe(200);
  const pool: Pool = await reader.dependencies.database.driver.getConnection().getNativeClient();
  await reader.close();
  expect([pool.ended, pool.totalCount]).toEqual([true, 0]);
});

test('the parameters of the database URL apply to all connections', async () => {
  const url = new URL(gateway.databaseUrl);
  url.searchParams.set('sslmode', 'require');
  const database = await openDatabase({ url: url.href, entities });
  try {
    await expect(database.em.fork().execute('select 1')).rejects.toThrow('The server does not support SSL connections');
  } finally {
    await database.close(true);
  }
});

test('the pool loses no capacity if a connection is lost in a transaction or at its beginning', async () => {
  const proxy = await startTcpProxy(gateway.databaseUrl);
  const database = await openDatabase({ url: proxy.url, entities, poolMax: 2 });
  const ask = () => database.em.fork().execute('select 1 as one');
  try {
    for (const isBegun of [false, true, false, true, false, true]) {
      await ask();
      const em = database.em.fork();
      if (isBegun) await em.begin();
      proxy.setDelay(60_000);
      const sent = proxy.nextRequest();
      const lost = (isBegun ? em.commit() : em.begin()).catch(String);
      await sent;
      proxy.cut();
      expect(await lost).toMatch(/Connection terminated|ECONNRESET/);
      if (isBegun) await em.rollback();
      proxy.setDelay(0);
    }
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]]);
  } finally {
    await database.close(true);
    await proxy.close();
  }
});

test('a database that answers only some connections is busy, not unavailable: no connection is closed', async () => {
  const proxy = await startTcpProxy(gateway.databaseUrl);
  // Real time: a shorter wait could end before a busy machine answers.
  const database = await openDatabase({ url: proxy.url, entities, poolMax: 2, waitMs: 3_000 });
  const em = database.em.fork();
  try {
    // The first connection is that of the transaction. The liveness check opens the others, which get no answer.
    proxy.stopForwardingNewConnections({ after: 1 });
    await em.begin();
    const before = proxy.connections;
    // Each check opens two connections. The third connection shows that a check has ended.
    while (proxy.connections < before + 3) await em.execute('select 1');
    await em.commit();
    await em.begin();
    proxy.stopForwarding();
    await expect(em.execute('select 1')).rejects.toThrow('Connection terminated');
  } finally {
    await em.rollback().catch(() => undefined);
    proxy.resumeForwarding();
    await database.close(true);
    await proxy.close();
  }
});

test('a liveness check that is answered after the pool has ended leaves no connection open', async () => {
  const proxy = await startTcpProxy(gateway.databaseUrl);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const database = await openDatabase({ url: proxy.url, entities, waitMs: 60_000 });
  const passSecond = () => vi.advanceTimersByTime(1_000);
  const em = database.em.fork();
  await em.begin();
  const before = proxy.connections;
  proxy.stopForwardingNewConnections({ after: 0 });
  passSecond();
  while (proxy.connections === before) await setImmediate();
  await em.rollback();
  await database.close(true);
  passSecond();
  proxy.resumeForwarding();
  await expect.poll(() => proxy.open).toBe(0);
  await proxy.close();
});

test('a page that is read within a transaction fails when its connection is lost', async () => {
  const proxy = await startTcpProxy(gateway.databaseUrl);
  const database = await openDatabase({ url: proxy.url, entities, poolMax: 1 });
  const em = database.em.fork();
  const page = (text: string) => sqlWithin(em).page<object>({ text, values: [45] }, { maxBytes: 1_000_000 });
  try {
    await em.begin();
    const { rows, isCut } = await page('select generate_series(1, $1::int) as one');
    expect([rows.length, isCut]).toEqual([45, false]);
    proxy.setDelay(60_000);
    const sent = proxy.nextRequest();
    const lost = page('select pg_sleep($1::int)').catch(String);
    await sent;
    proxy.cut();
    expect(await lost).toMatch(/Connection terminated|ECONNRESET/);
    await em.rollback();
    proxy.setDelay(0);
    expect(await database.em.fork().execute('select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await database.close(true);
    await proxy.close();
  }
});
