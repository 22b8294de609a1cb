import { afterAll, beforeAll, expect, test } from 'vitest';
import { endProcesses } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { BODY_BYTES, type Measurements, startMeasurements, variationsOf } from '../support/widest/measurements.ts';
import {
  admittedSocket,
  manyMessages,
  openSocket,
  openUnfinished,
  sendAll,
  socketMessages,
} from '../support/widest/sockets.ts';

let measured: Measurements;
beforeAll(async () => {
  measured = await startMeasurements();
});
afterAll(async () => {
  await measured.stop();
  await endProcesses();
});

const CALLERS = {
  'without a key': () => openSocket(measured.gateway.url),
  'with a key': () => admittedSocket(measured.gateway.url, measured.key),
};

test.each(Object.entries(CALLERS))('beside wide messages %s, others are served', async (who, open) => {
  for (const [index, { operation, places }] of socketMessages().entries())
    for (const { name, json } of variationsOf({ operation, places }, index, full ? 100 : 4))
      await measured.measure({
        name: `${who}: ${name}`,
        prepare: () => {
          const message = json();
          return async () => sendAll(await open(), [message]);
        },
      });
  expect(measured.faults()).toEqual([]);
});

test.each(Object.entries(CALLERS))('beside many messages %s, others are served', async (who, open) => {
  for (const [name, messages] of manyMessages)
    await measured.measure({
      name: `${who}: many messages ${name}`,
      prepare: () => async () => sendAll(await open(), messages()),
    });
  // Twelve long messages at once.
  const ping = JSON.stringify({ type: 'ping', payload: { a: 'a'.repeat(BODY_BYTES) } });
  await measured.measure({
    name: `${who}: long pings on six sockets`,
    prepare: () => async () =>
      void (await Promise.all(Array.from({ length: 6 }, async () => sendAll(await open(), [ping])))),
  });
  expect(measured.faults()).toEqual([]);
});

test('beside sockets with messages that do not end, others are served', async () => {
  await measured.measure({
    name: 'unfinished messages of 60 sockets',
    prepare: () => async () => {
      const sockets = await Promise.all(
        Array.from({ length: 60 }, () => openUnfinished(measured.gateway.url, BODY_BYTES)),
      );
      for (const socket of sockets) socket.destroy();
      return undefined;
    },
  });
  expect(measured.faults()).toEqual([]);
  proof('Widest messages', { figures: measured.figures() });
});
