import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { endProcesses, run, temporaryDirectory } from '../support/processes/process.ts';
import { checkout } from '../support/processes/programs.ts';

afterEach(endProcesses);

const END_PROCESS = JSON.stringify(join(checkout, 'src/core/end-process.ts'));

test.each([0, 1])('a process ends with status %i immediately, although one of its threads is blocked', async (code) => {
  // Opening the pipe blocks, because nothing writes to it. A name lookup blocks in the same way if the name server does not answer.
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
});

test('a process without blocked threads ends with its status', async () => {
  const program = `import { endProcess } from ${END_PROCESS}; endProcess(3);`;
  const ended = await run([process.execPath, '--input-type=module', '--eval', program], {});
  expect(ended).toEqual({ code: 3, stdout: '', stderr: '' });
});
