import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { Idempotency } from '../../../src/gateway/idempotency/idempotency.ts';
import { fetchOf, startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  EVENTS,
  type Write,
  createDefinition,
  definition,
  visibleParts,
  sendKeyed,
  storedAnswers,
} from '../../support/fixtures/idempotency.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** Twins: concurrent requests with the same `Idempotency-Key`, in one process and in several. */

const gateway = useOwnGateway();
let key: string;

beforeEach(async () => {
  ({ key } = await gateway.createKey());
});

function send(write: Write, idempotencyKey: string, { by = key, to = gateway } = {}) {
  return sendKeyed(to, write, { key: by, idempotencyKey });
}

describe('twins', () => {
  test('20 concurrent requests have one effect and get 20 equal answers', async () => {
    const write = createDefinition('Signed up');
    const answers = (await Promise.all(Array.from({ length: 20 }, () => send(write, 'k-1')))).map(visibleParts);
    expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed === undefined)).toHaveLength(1);
    expect(await storedAnswers(gateway, key)).toHaveLength(1);
  });

  test('200 requests in two processes, 10 for each key, have 20 effects', async () => {
    const beside = await startTestGateway({}, { beside: gateway });
    try {
      const keys = Array.from({ length: 20 }, () => randomUUID());
      for (let start = 0; start < keys.length; start += 4) {
        const twins = keys
          .slice(start, start + 4)
          .flatMap((name) => Array.from({ length: 10 }, (_, index) => ({ name, to: index % 2 ? beside : gateway })));
        const answers = await Promise.all(
          twins.map(({ name, to }) => send(createDefinition(`Event ${name}`), name, { to })),
        );
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
        expect(new Set(answers.map(({ text }) => text)).size).toBe(4);
        expect(answers.filter((answer) => visibleParts(answer).replayed === undefined)).toHaveLength(4);
      }
      const { body } = await gateway.rest<{ total: number }>('GET', EVENTS, { key });
      expect(body.total).toBe(20);
    } finally {
      await beside.close();
    }
  });

  test('wait for a slow request in the same or another process, and are refused if it takes too long', async () => {
    const sessionId = await createSession(gateway, key);
    const write: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { title: 'Mended' } };
    const beside = await startTestGateway({}, { beside: gateway });
    const impatient = [gateway, beside].map(({ dependencies }) =>
      fetchOf(createGateway({ ...dependencies, idempotency: new Idempotency(dependencies, { waitMs: 0 }) })),
    );
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'k-1' };
    const request = () =>
      new Request(`http://gateway${write.path}`, { method: 'PATCH', headers, body: JSON.stringify(write.body) });
    try {
      await whileLocked(gateway, 'select from session where id = ? for update', [sessionId], async (release) => {
        const first = send(write, 'k-1');
        await untilWaitingForLock(gateway, 1);
        const twins = [send(write, 'k-1'), send(write, 'k-1', { to: beside })];
        await untilWaitingForLock(gateway, 2);
        const refused = await Promise.all(impatient.map(async (handle) => (await handle(request())).json()));
        const error = 'Idempotency-Key: a request with this key is still running; retry later to get its answer';
        expect(refused).toEqual([{ error }, { error }]);
        await release();
        const { answer } = visibleParts(await first);
        expect(answer.status).toBe(200);
        expect((await Promise.all(twins)).map(visibleParts)).toEqual([
          { answer, replayed: 'true' },
          { answer, replayed: 'true' },
        ]);
      });
    } finally {
      await beside.close();
    }
  });

  test('run themselves if the first request fails', async () => {
    const sessionId = await createSession(gateway, key);
    const write: Write = { method: 'PATCH', path: `/v1/sessions/${sessionId}`, body: { mcpServers: ['tracker'] } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(write, 'k-1')));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, await storedAnswers(gateway, key)]).toEqual([400, []]);
  });
});

describe('a connection to the database that is lost in the middle of a write', () => {
  test.each<Record<string, string>>([{ 'Idempotency-Key': 'k-1' }, {}])(
    'gets 503 without an effect; a retry succeeds, and no connection of the pool is lost: %j',
    async (headers) => {
      const { method, path } = createDefinition();
      const { body } = await gateway.rest<{ name: string }>(method, path, { key, body: definition('Signed up') });
      const change = () =>
        gateway.rest<{ label: string }>('PATCH', `${path}/${body.name}`, {
          key,
          headers,
          body: { label: 'Signed off' },
        });
      const answer = await whileLocked(gateway, 'select from event_definition for update', [], async () => {
        const lost = change();
        await untilWaitingForLock(gateway, 1);
        await gateway.dependencies.sql.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          [],
        );
        return lost;
      });
      expect([answer.status, await storedAnswers(gateway, key)]).toEqual([503, []]);
      const retried = await change();
      expect([retried.status, retried.body.label, visibleParts(retried).replayed]).toEqual([
        200,
        'Signed off',
        undefined,
      ]);
      const pool: Pool = await gateway.dependencies.database.driver.getConnection().getNativeClient();
      await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0);
    },
  );
});
