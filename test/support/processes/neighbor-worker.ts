// A thread that sends a small query every 5 ms and measures the latency, whatever the thread of the test does meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const EVERY_MS = 5;
const { url, key } = workerData as { readonly url: string; readonly key: string };
const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json' };
const body = JSON.stringify({ query: '{ viewer { role } }' });

let worst = 0;
let failure = '';
let isAsked = false;

async function ask(): Promise<void> {
  const began = performance.now();
  try {
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    await response.arrayBuffer();
    if (response.status !== 200) failure = `status ${response.status}`;
  } catch (error) {
    failure = String(error);
  }
  worst = Math.max(worst, performance.now() - began);
}

parentPort?.on('message', () => (isAsked = true));
for (;;) {
  await ask();
  if (isAsked) {
    parentPort?.postMessage({ worst: Math.round(worst), failure }, []);
    worst = 0;
    failure = '';
    isAsked = false;
  }
  await delay(EVERY_MS);
}
