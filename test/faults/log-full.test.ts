import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../support/processes/ports.ts';
import { endProcesses, freshDatabase, start, temporaryDirectory } from '../support/processes/process.ts';
import { GATEWAY } from '../support/processes/programs.ts';
import { NOT_ALLOWED, fill, smallDisk } from '../support/processes/small-disk.ts';

afterEach(endProcesses);

/** Starts a gateway whose standard output is a file. */
async function startWritingTo(output: string) {
  const port = await freePort();
  const env = { ...(await freshDatabase()), PORT: String(port), RATE_LIMIT_PER_MINUTE: '0', OUTPUT: output };
  const { child, exited, output: written } = start(['sh', '-c', 'exec "$0" start >>"$OUTPUT"', GATEWAY], env);
  const get = async (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  await expect.poll(() => get('/health/ready').then(({ status }) => status, String)).toBe(200);
  const linesLost = async () =>
    Number(/^gateway_log_lines_lost_total (\d+)$/m.exec(await (await get('/metrics')).text())?.[1]);
  const end = () => {
    child.kill('SIGTERM');
    return exited;
  };
  return { get, linesLost, end, written };
}

test('a gateway whose log disk fills up serves on, counts the lines that it loses, logs one line when there is space again, and ends at SIGTERM', async ({
  skip,
}) => {
  const disk = (await smallDisk('256k')) ?? skip(NOT_ALLOWED);
  const [log, ballast] = [join(disk, 'log'), join(disk, 'ballast')];
  const { get, linesLost, end } = await startWritingTo(log);
  // Refused as unauthenticated or, later, as too many.
  const request = async (n: number) => expect((await get(`/v1/sessions/${n}`)).status).toBeLessThan(500);
  const lines = (pattern: RegExp) => readFileSync(log, 'utf8').match(pattern) ?? [];
  fill(ballast);
  for (let n = 0; (await linesLost()) < 100; n += 1) await request(n);
  expect((await get('/health/live')).status).toBe(200);
  rmSync(ballast);
  await expect
    .poll(async () => {
      return lines(/"code":"ENOSPC","msg":"log lines were lost, because they could not be written"/g).length;
    })
    .toBe(1);
  await expect
    .poll(async () => {
      await request(1_000_000);
      return lines(/"path":"\/v1\/sessions\/1000000"/g).length;
    })
    .toBeGreaterThan(0);
  fill(ballast);
  const before = await linesLost();
  while ((await linesLost()) === before) await request(0);
  expect(await end()).toBe(0);
});

test('a gateway whose log can never be written starts, serves, counts the lines and ends at SIGTERM', async () => {
  const { get, linesLost, end, written } = await startWritingTo('/dev/full');
  await expect
    .poll(async () => {
      await get('/v1/sessions');
      return linesLost();
    })
    .toBeGreaterThan(0);
  expect(await end()).toBe(0);
  expect(written.stderr).toBe('');
});

test('a gateway whose log is a pipe goes on when its reader leaves, and logs what was lost when another one reads', async () => {
  const pipe = join(await temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Keeps the start of the gateway from waiting for a reader.
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const { get, linesLost, end } = await startWritingTo(pipe);
  closeSync(reader);
  await expect
    .poll(async () => {
      await get('/v1/sessions');
      return linesLost();
    })
    .toBeGreaterThan(0);
  const { child, output, exited } = start(['cat', pipe], {});
  await expect
    .poll(async () => {
      await get('/v1/sessions');
      return output.stdout;
    })
    .toContain('"code":"EPIPE","msg":"log lines were lost, because they could not be written"');
  expect(await end()).toBe(0);
  expect(await exited).toBe(0);
  expect(child.exitCode).toBe(0);
});
