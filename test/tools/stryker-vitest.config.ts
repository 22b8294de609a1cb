import { defineConfig } from 'vitest/config';

// Only unit tests: mutants run one after another, and there are too many to start a gateway with a database for each.
export default defineConfig({
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: { testTimeout: 60_000, include: ['test/**/*.unit.test.ts'], setupFiles: ['test/support/property-seed.ts'] },
});
