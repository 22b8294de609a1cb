// What does not apply to a cluster of Citus, each with its reason: files, and tests by a part of their name.

const FILES: Readonly<Record<string, string>> = {
  'test/deploy/citus.test.ts': 'distributes a database of PostgreSQL without Citus',
};

export const NOT_SHARDED_FILES: readonly string[] = Object.keys(FILES);

export const NOT_SHARDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {};
