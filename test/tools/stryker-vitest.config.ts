import { defineConfig } from 'vitest/config';

// The unit tests alone: mutants run one after the other, and thousands of them leave no time for a gateway and its database.
export default defineConfig({
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: { testTimeout: 60_000, include: ['test/**/*.unit.test.ts'], setupFiles: ['test/support/property-seed.ts'] },
});
