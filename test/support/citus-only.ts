// Skips tests that do not apply to a cluster of Citus, each with its reason.
import { beforeEach } from 'vitest';
import { NOT_SHARDED } from './not-on-citus.ts';

beforeEach(({ task, skip }) => {
  const file = Object.keys(NOT_SHARDED).find((name) => task.file.filepath.endsWith(name)) ?? '';
  const name = Object.keys(NOT_SHARDED[file] ?? {}).find((part) => task.name.includes(part));
  if (name !== undefined) skip(NOT_SHARDED[file]?.[name]);
});
