import { afterAll, expect, test } from 'vitest';
import { GATEWAY } from '../support/processes/programs.ts';
import { endProcesses, start, temporaryDirectory } from '../support/processes/process.ts';

afterAll(endProcesses);

test('at a terminal the log is lines for people, the block of the start is the last of them, probes are not logged, and Ctrl-C ends the gateway with status 0', async () => {
  // Without `exec` the shell would end by the same signal, with its own status.
  const command = `exec ${GATEWAY} start`;
  // `script` gives a program a terminal.
  const { child, output, exited } = start(['script', '-qfec', command, '/dev/null'], {
    PORT: '0',
    DATA_DIR: await temporaryDirectory(),
    ALLOW_PRIVATE_NETWORK: 'true',
    NO_COLOR: '1',
  });
  // A slow machine says what it waits for.
  const shown = () => output.stdout.replaceAll('\r\n', '\n').replace(/^.*starting PostgreSQL….*\n/, '');
  await expect.poll(shown).toMatch(/\n {4}curl .*\n\n/);
  expect(shown()).toMatch(/^\d\d:\d\d:\d\d warn {2}ALLOW_PRIVATE_NETWORK is on.*\n\n {2}Open this/);
  expect(shown()).toMatch(/\n\n {4}curl [^\n]*\n\n$/);
  const url = /GraphiQL +(http\S+)\/graphql/.exec(shown())?.[1] ?? '';
  for (const path of ['/health/live', '/health/ready', '/metrics', '/v1/nowhere']) await fetch(url + path);
  await expect
    .poll(() => shown().split('\n\n').at(-1))
    .toMatch(
      /^\d\d:\d\d:\d\d info {2}GET {4}\/v1\/nowhere 401 [\d.]+ ms operation=unknown clientAddress=127\.0\.0\.1 requestId=\S+\n$/,
    );
  child.stdin?.write('\u0003');
  // `script` ends with the status of the gateway.
  expect(await exited).toBe(0);
});
