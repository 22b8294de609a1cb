import { expect, test } from 'vitest';
import { createProgress } from '../../src/operator/progress.ts';

function shown(isTTY: boolean) {
  let text = '';
  let clock = 0;
  const bar = createProgress({ isTTY, write: (piece) => (text += piece) }, 200, () => clock);
  return { bar, wait: (ms: number) => (clock += ms), read: () => text };
}

test('on a terminal, the progress bar is redrawn at most ten times a second', () => {
  const { bar, wait, read } = shown(true);
  bar.update(0, 'none');
  bar.update(50, 'skipped');
  wait(100);
  bar.update(100, 'half');
  bar.end(200, 'all');
  expect(read()).toBe(
    `\r[${'.'.repeat(30)}]   0 %  none\r[${'#'.repeat(15)}${'.'.repeat(15)}]  50 %  half\r[${'#'.repeat(30)}] 100 %  all\n`,
  );
});

test('without a terminal, a line is printed every 5 s and at the end', () => {
  const { bar, wait, read } = shown(false);
  for (let second = 0; second <= 10; second += 1) {
    bar.update(second * 10, `${second}`);
    wait(1000);
  }
  bar.end(200, 'all');
  expect(read()).toBe('25 %  5\n50 %  10\n100 %  all\n');
});
