import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Peer, startPeer } from '../support/peers/mcp-server.ts';
import { endProcesses } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import {
  type Ids,
  mutationRequests,
  otherRequests,
  queryRequests,
  restRequests,
  wideAddresses,
} from '../support/widest/contract.ts';
import {
  type Measurements,
  type Trial,
  createObjects,
  startMeasurements,
  trialsOf,
} from '../support/widest/measurements.ts';
import { SMALL, wideServer } from '../support/widest/servers.ts';

let measured: Measurements;
let server: Peer;
let ids: Ids;
beforeAll(async () => {
  measured = await startMeasurements();
  server = await startPeer(wideServer(SMALL));
  ids = await createObjects(measured, server.origin);
});
afterAll(async () => {
  await measured.stop();
  await endProcesses();
  await server.stop();
});

/** In full all kinds. */
const counts = (count: number, accepted = 0) => (full ? { count: 60, accepted: 45 } : { count, accepted });

async function faultsOf(trials: readonly Trial[]): Promise<string[]> {
  for (const trial of trials) await measured.measure(trial);
  return measured.faults();
}

test('beside wide bodies of each operation of REST, others are served', async () => {
  const requests = [...restRequests(ids), ...otherRequests()];
  expect(await faultsOf(trialsOf(measured, requests, counts(2, 1)))).toEqual([]);
});

test('beside wide inputs of each mutation, others are served', async () => {
  expect(await faultsOf(trialsOf(measured, mutationRequests(ids), counts(2, 1)))).toEqual([]);
});

test('beside wide arguments of each query and subscription, others are served', async () => {
  expect(await faultsOf(trialsOf(measured, queryRequests(ids), counts(1)))).toEqual([]);
});

test('beside wide addresses of each route, others are served', async () => {
  const trials = wideAddresses(ids).map(({ operation, method, path }) => ({
    name: operation,
    prepare: () => async () => (await measured.send(method, path, undefined)).status,
  }));
  expect(await faultsOf(trials)).toEqual([]);
});

test('many of the inputs are accepted; records how long others waited', () => {
  const figures = measured.figures();
  expect(figures['accepted']).toBeGreaterThan(50);
  proof('Widest inputs', { figures });
});
