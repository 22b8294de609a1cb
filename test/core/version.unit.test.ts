import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitOf } from '../../src/core/version.ts';
import { temporaryFolder } from '../support/fixtures/temporary-folder.ts';

test('the build is the commit of a checkout: of a branch, packed, detached, and of a worktree', async () => {
  const root = await temporaryFolder();
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
  const commit = (message: string) => {
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', message);
    return git('rev-parse', 'HEAD');
  };
  git('init', '--quiet', '--initial-branch=release/one');
  const first = commit('first');
  expect(commitOf(root)).toBe(first);
  git('pack-refs', '--all');
  expect(commitOf(root)).toBe(first);
  const worktree = join(await temporaryFolder(), 'beside');
  git('worktree', 'add', '--quiet', worktree, '-b', 'beside');
  expect(commitOf(worktree)).toBe(first);
  const second = commit('second');
  expect([commitOf(root), commitOf(worktree)]).toEqual([second, first]);
  git('checkout', '--quiet', '--detach', first);
  expect(commitOf(root)).toBe(first);
});

test('a folder without a checkout, or with an odd one, has no commit', async () => {
  const root = await temporaryFolder();
  expect(commitOf(root)).toBeUndefined();
  await writeFile(join(root, '.git'), 'nonsense');
  expect(commitOf(root)).toBeUndefined();
});
