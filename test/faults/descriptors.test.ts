import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/processes/ports.ts';
import { endProcesses, freshDatabase, issueKey, start } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';

afterEach(endProcesses);

test('a process without free descriptors refuses connections, and serves again when others have ended', async () => {
  const port = await freePort();
  const env = { ...(await freshDatabase()), PORT: String(port), RATE_LIMIT_PER_MINUTE: '0' };
  const key = await issueKey(env);
  const { child, exited } = start(['sh', '-c', 'ulimit -n 80; exec "$0" start', GATEWAY], env);
  const base = `http://127.0.0.1:${port}`;
  const headers = { Authorization: `Bearer ${key}` };
  const read = () =>
    fetch(`${base}/events/2026-03/event-definitions`, { headers }).then(({ status }) => status, String);
  await expect.poll(read).toBe(200);
  const sockets: Socket[] = [];
  // Some are refused, and others take the descriptors that connections to the database need.
  for (let count = 0; count < 120; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    socket.write(`GET /events/2026-03/event-definitions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    sockets.push(socket);
  }
  await expect.poll(() => sockets.filter((socket) => socket.closed).length).toBeGreaterThan(20);
  expect(child.exitCode).toBe(null);
  for (const socket of sockets) socket.destroy();
  await expect.poll(read).toBe(200);
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
});
