import { afterAll, beforeAll, expect, test } from 'vitest';
import { endProcesses } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { sessionAddresses } from '../support/widest/contract.ts';
import { lineRequests, manyLines } from '../support/widest/lines.ts';
import { type Measurements, startMeasurements, trialsOf } from '../support/widest/measurements.ts';
import { KINDS } from '../support/widest/wide-values.ts';

/** A little less than the data of an event may have. */
const EVENT_BYTES = 0.95 * 1024 * 1024;

let measured: Measurements;
beforeAll(async () => {
  measured = await startMeasurements();
});
afterAll(async () => {
  await measured.stop();
  await endProcesses();
});

const newSession = async () => String((await measured.created('/v1/sessions', { title: 'S' }))['id']);

test('beside a wide line of each kind of each format, others are served', async () => {
  const requests = lineRequests(await newSession());
  for (const trial of trialsOf(measured, requests, { count: full ? 60 : 1 })) await measured.measure(trial);
  expect(measured.faults()).toEqual([]);
});

test('beside reads of wide events, others are served', async () => {
  const kinds = KINDS.filter(({ takes }) => takes === 'text' || takes === 'value');
  const perSession = 9;
  for (let from = 0; from < (full ? kinds.length : 2 * perSession); from += perSession) {
    const sessionId = await newSession();
    const path = `/v1/sessions/${sessionId}/events`;
    for (const kind of kinds.slice(from, from + perSession)) {
      const value = kind.json(EVENT_BYTES, { member: 'a', item: '1' });
      // Some kinds are not accepted.
      await measured.send(
        'POST',
        path,
        `{"events":[{"eventType":"e","provider":"p","eventData":{"type":"t","value":${value}}}]}`,
      );
    }
    for (const address of sessionAddresses(sessionId)) {
      const send = async () => (await measured.send('GET', address, undefined)).status;
      await measured.measure({ name: `${address} after ${from} kinds`, prepare: () => send });
    }
  }
  expect(measured.faults()).toEqual([]);
});

test('beside many lines of each kind, others are served', async () => {
  for (const { request, body } of manyLines('', full ? 9_998 : 250)) {
    const path = `/v1/sessions/${await newSession()}/events`;
    const { method, type, accept, operation } = request;
    const send = async () => (await measured.send(method, path, body, { type, accept })).status;
    await measured.measure({ name: `many: ${operation}`, prepare: () => send });
  }
  expect(measured.faults()).toEqual([]);
  proof('Widest lines', { figures: measured.figures() });
});
