import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Peer, startPeer } from '../support/peers/mcp-server.ts';
import { endProcesses } from '../support/processes/process.ts';
import { full, proof } from '../support/proof.ts';
import { type Ids, toolRequests } from '../support/widest/contract.ts';
import { BODY_BYTES, type Measurements, createObjects, startMeasurements } from '../support/widest/measurements.ts';
import { ENDLESS, wideResults, wideServer, wideStreams } from '../support/widest/servers.ts';

let measured: Measurements;
let server: Peer;
let ids: Ids;
beforeAll(async () => {
  measured = await startMeasurements();
  server = await startPeer(wideServer(ENDLESS));
  ids = await createObjects(measured, server.origin);
});
afterAll(async () => {
  await measured.stop();
  await endProcesses();
  await server.stop();
});

test('while a server gives wide answers to each operation that calls it, others are served', async () => {
  const requests = toolRequests(ids);
  const answers = [ENDLESS, ...wideStreams(BODY_BYTES), ...wideResults(BODY_BYTES)];
  for (const [index, answer] of answers.entries()) {
    server.handler = wideServer(answer);
    for (const { operation, method, path, type, accept, body } of full
      ? requests
      : requests.slice(index % requests.length, (index % requests.length) + 1)) {
      const send = async () => (await measured.send(method, path, body, { type, accept })).status;
      await measured.measure({ name: `${operation}, a server that answers ${answer.name}`, prepare: () => send });
    }
  }
  expect(measured.faults()).toEqual([]);
  proof('Widest answers', { figures: measured.figures() });
});
