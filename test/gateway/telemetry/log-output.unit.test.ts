import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { LogOutput } from '../../../src/gateway/telemetry/log-output.ts';

const directory = mkdtempSync(join(tmpdir(), 'log-output-'));
afterAll(() => rm(directory, { recursive: true }));

function openOutput(fd: number) {
  const output: LogOutput = new LogOutput(fd, ({ lines, code }) => output.write(`lost ${lines} ${code}\n`));
  const flush = () => new Promise<void>((resolve) => output.flush(resolve));
  return { output, flush };
}

/** A pipe whose reader can leave and come back. */
function openPipe(name: string) {
  const path = join(directory, name);
  execFileSync('mkfifo', [path]);
  const openReader = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const reader = openReader();
  return { openReader, reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

function readAll(reader: number): string {
  const buffer = Buffer.alloc(1024 * 1024);
  let text = '';
  for (;;) {
    try {
      const length = readSync(reader, buffer);
      if (length === 0) return text;
      text += buffer.toString('utf8', 0, length);
    } catch {
      return text;
    }
  }
}

test('lines that a full device does not take are counted, and nothing waits for them', async () => {
  const { output, flush } = openOutput(openSync('/dev/full', 'w'));
  for (let n = 0; n < 1_000; n += 1) output.write(`${'x'.repeat(100)}\n`);
  await flush();
  await flush();
  expect(output.linesLost).toBe(1_000);
});

test('while nobody reads a closed pipe, lines are lost; when somebody reads again, what was lost is reported once', async () => {
  const { openReader, reader, writer } = openPipe('closed');
  const { output, flush } = openOutput(writer);
  output.write('first\n');
  await flush();
  expect(readAll(reader)).toBe('first\n');
  closeSync(reader);
  output.write('lost 1\nlost 2\n');
  await flush();
  output.write('lost 3\n');
  await flush();
  expect(output.linesLost).toBe(3);
  const again = openReader();
  output.write('after\n');
  await flush();
  output.write('later\n');
  await flush();
  expect(readAll(again)).toBe('after\nlost 3 EPIPE\nlater\n');
  expect(output.linesLost).toBe(3);
});

test('a line of which only a part was written is lost, and the next one begins on a line of its own', async () => {
  const { openReader, reader, writer } = openPipe('torn');
  const { output, flush } = openOutput(writer);
  // More than the pipe takes, so that a part remains that fails when the reader leaves.
  output.write(`${'x'.repeat(200_000)}\n`);
  await expect.poll(() => readAll(reader)).toMatch(/^x+$/);
  closeSync(reader);
  await flush();
  expect(output.linesLost).toBe(1);
  const again = openReader();
  await flush();
  expect(readAll(again)).toMatch(/^\nlost 1 EPIPE\n$/);
  expect(output.linesLost).toBe(1);
});

test('a reader that does not read delays lines and loses none, until 8 MiB wait', async () => {
  const { reader, writer } = openPipe('slow');
  const { output, flush } = openOutput(writer);
  const line = `${'x'.repeat(999)}\n`;
  for (let n = 0; n < 10_000; n += 1) output.write(line);
  const kept = 10_000 - output.linesLost;
  expect(kept * line.length).toBeGreaterThan(8 * 1024 * 1024);
  expect(output.linesLost).toBeGreaterThan(0);
  let read = '';
  let isFlushed = false;
  void flush().then(() => (isFlushed = true));
  while (!isFlushed) {
    read += readAll(reader);
    await nextIteration();
  }
  read += readAll(reader);
  expect(read.replace(/lost.*\n/, '').length).toBe(kept * line.length);
  expect(read.endsWith(`lost ${output.linesLost} EAGAIN\n`)).toBe(true);
});
