import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { AGENT_LINES } from '../support/fixtures/agent-lines.ts';
import { type ServedGateway, startServedGateway } from '../support/fixtures/served-gateway.ts';
import { createSession, eventsOf, readAll } from '../support/fixtures/sessions.ts';
import { type TcpProxy, startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';
import { RECORD, linesOf, sessionOf } from '../support/processes/recorder.ts';

/** An append whose answer is lost after its commit: sent again, it is stored once. */

let gateway: ServedGateway;
let proxy: TcpProxy;
let key: string;
beforeAll(async () => {
  gateway = await startServedGateway();
  ({ key } = await gateway.createKey());
  proxy = await startTcpProxy(gateway.url);
});
afterAll(async () => {
  await proxy.close();
  await gateway.close();
});
afterEach(endProcesses);

const LINES = AGENT_LINES.claude;
const BODIES = {
  lines: { type: 'application/x-ndjson; format=claude; batchId=b', body: LINES.join('\n') },
  events: { type: 'application/json', body: JSON.stringify({ batchId: 'b', events: eventsOf(3) }) },
};
const lastIdOf = async (id: string) => (await readAll(gateway, key, id)).at(-1)?.id ?? 0;

test.each(Object.entries(BODIES))('%s: the retry answers the ids that are stored', async (_, { type, body }) => {
  const id = await createSession(gateway, key);
  const send = () =>
    fetch(`${proxy.url}v1/sessions/${id}/events`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': type },
      body,
    });
  proxy.dropAnswers();
  const lost = send().catch(String);
  await expect.poll(() => lastIdOf(id)).toBeGreaterThan(0);
  const lastId = await lastIdOf(id);
  proxy.cut();
  expect(await lost).toContain('fetch failed');
  proxy.resumeForwarding();
  expect(await (await send()).json()).toMatchObject({ firstId: 1, lastId, isReplayed: true });
  expect(await lastIdOf(id)).toBe(lastId);
});

test('the recorder: each line is stored once, and costs count once', async () => {
  const spool = await temporaryDirectory();
  const command = ['--spool', spool, '--wait', '600', '--format', 'claude', '--', 'cat'];
  const { child, output, exited } = start([...RECORD, ...command], { GATEWAY: proxy.url, KEY: key });
  const write = (lines: readonly string[]) => child.stdin.write(lines.map((line) => `${line}\n`).join(''));
  write(LINES.slice(0, 1));
  await expect.poll(() => output.stderr).toContain('/sessions/');
  const id = sessionOf(output.stderr);
  await expect.poll(() => linesOf(gateway, key, id)).toHaveLength(1);
  proxy.dropAnswers();
  write(LINES.slice(1));
  await expect.poll(() => linesOf(gateway, key, id)).toHaveLength(LINES.length);
  proxy.cut();
  await expect.poll(() => output.stderr).toContain('the gateway cannot be reached');
  proxy.resumeForwarding();
  child.stdin.end();
  expect(await exited).toBe(0);
  expect(await linesOf(gateway, key, id)).toEqual(LINES);
  const { body } = await gateway.rest<object>('GET', `/v1/sessions/${id}/usage`, { key });
  expect(body).toMatchObject({ costUsd: 0.25, turns: 3, outputTokens: 340 });
});
