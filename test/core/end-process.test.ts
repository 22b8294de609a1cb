import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkout, endProcesses, run, temporaryDirectory } from '../support/processes/process.ts';

afterEach(endProcesses);

const END_PROCESS = JSON.stringify(join(checkout, 'src/core/end-process.ts'));

test.each([0, 1])(
  'a process ends with status %i at once, although a thread waits for what never comes',
  async (code) => {
    // Nobody writes to it, so that opening it takes forever: as a name server does that is away.
    const pipe = join(await temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const program = `
    import { open } from 'node:fs';
    import { endProcess } from ${END_PROCESS};
    open(${JSON.stringify(pipe)}, 'r', () => undefined);
    process.stdout.write('ends');
    setImmediate(() => endProcess(${code}));
  `;
    const ended = await run([process.execPath, '--input-type=module', '--eval', program], {});
    expect(ended).toEqual({ code, stdout: 'ends', stderr: '' });
  },
);

test('a process ends with its status where no thread waits', async () => {
  const program = `import { endProcess } from ${END_PROCESS}; endProcess(3);`;
  const ended = await run([process.execPath, '--input-type=module', '--eval', program], {});
  expect(ended).toEqual({ code: 3, stdout: '', stderr: '' });
});
