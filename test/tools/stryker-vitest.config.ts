import { defineConfig } from 'vitest/config';

// Only unit tests: mutants run one after another, and there are too many to start a gateway with a database for each.
// Tests of the gateway are left out, because one of them needs the stack of a process, and Stryker runs tests in
// threads, which have a larger one.
export default defineConfig({
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    testTimeout: 60_000,
    include: ['test/{core,domains}/**/*.unit.test.ts'],
    setupFiles: ['test/support/property-seed.ts'],
  },
});
