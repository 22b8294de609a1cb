import { afterEach, expect, test } from 'vitest';
import { FORMAT_NAMES } from '../../src/domains/session-events/formats/names.ts';
import { AGENT_LINES, ODD_LINES } from '../support/fixtures/agent-lines.ts';
import { BLANK_LINES, WIDE_LINES } from '../support/fixtures/wide-lines.ts';
import { startTcpProxy } from '../support/peers/tcp-proxy.ts';
import { createSession } from '../support/fixtures/sessions.ts';
import {
  call,
  endProcesses,
  freshDatabase,
  graphqlApi,
  issueKey,
  start,
  startGateway,
  temporaryDirectory,
} from '../support/processes/process.ts';
import { freePort } from '../support/processes/ports.ts';
import { RECORD, linesOf, restApi, sessionOf } from '../support/processes/recorder.ts';

afterEach(endProcesses);

const isKept = (line: string) => line.trim() !== '';

test('for each format, every line is stored once while the gateway is killed twice and the network is cut; output, exit code and totals are kept', async () => {
  const database = await freshDatabase();
  const port = await freePort();
  const env = { ...database, PORT: String(port), RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL: `http://127.0.0.1:${port}` };
  let gateway = await startGateway(env);
  const key = await issueKey(database);
  const proxy = await startTcpProxy(gateway.url);
  const spool = await temporaryDirectory();
  const runs = FORMAT_NAMES.map((format) => {
    const lines = [...ODD_LINES, ...BLANK_LINES, ...WIDE_LINES, ...AGENT_LINES[format]];
    const command = ['--spool', spool, '--wait', '600', '--format', format, '--', 'sh', '-c', 'cat; exit 4'];
    const recorder = start([...RECORD, ...command], { GATEWAY: proxy.url, KEY: key });
    const quarter = Math.ceil(lines.length / 4);
    return { format, lines, ...recorder, part: (index: number) => lines.slice(index * quarter, (index + 1) * quarter) };
  });
  const usageOf = async (id: string) => (await call(gateway.url, key, 'GET', `/v1/sessions/${id}/usage`)).body;
  /** A session with the same lines in one request. */
  const sentAtOnce = async (format: string, lines: readonly string[]) => {
    const id = await createSession(graphqlApi(gateway.url), key);
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': `application/x-ndjson; format=${format}` };
    const body = lines.join('\n');
    const { status } = await fetch(`${gateway.url}/v1/sessions/${id}/events`, { method: 'POST', headers, body });
    expect(status).toBe(201);
    return id;
  };
  const write = (index: number) => {
    for (const { child, part } of runs)
      child.stdin.write(
        part(index)
          .map((line) => `${line}\n`)
          .join(''),
      );
  };
  const all = (found: (run: (typeof runs)[number]) => Promise<boolean>) =>
    expect.poll(async () => (await Promise.all(runs.map(found))).every(Boolean)).toBe(true);
  const stored = (upTo: number) =>
    all(async ({ output, part }) => {
      const wanted = Array.from({ length: upTo }, (_, index) => part(index)).flat();
      const found = await linesOf(restApi(gateway.url), key, sessionOf(output.stderr));
      return found.length >= wanted.filter(isKept).length;
    });

  write(0);
  await all(async ({ output }) => output.stderr.includes('/sessions/'));
  await stored(1);
  await gateway.end('SIGKILL');
  write(1);
  await all(async ({ output }) => output.stderr.includes('cannot be reached'));
  gateway = await startGateway(env);
  await stored(2);
  proxy.stopForwarding();
  write(2);
  proxy.cut();
  proxy.resumeForwarding();
  await gateway.end('SIGKILL');
  write(3);
  for (const { child } of runs) child.stdin.end();
  gateway = await startGateway(env);
  expect(await Promise.all(runs.map(({ exited }) => exited))).toEqual(runs.map(() => 4));
  for (const { format, lines, output } of runs) {
    expect(output.stdout).toBe(lines.map((line) => `${line}\n`).join(''));
    expect(await linesOf(restApi(gateway.url), key, sessionOf(output.stderr))).toEqual(lines.filter(isKept));
    expect(output.stderr).not.toContain('answered 4');
    expect(await usageOf(sessionOf(output.stderr))).toEqual(await usageOf(await sentAtOnce(format, lines)));
  }
  await proxy.close();
});
