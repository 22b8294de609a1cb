import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Without these conditions vitest loads two copies of graphql ("another module or realm").
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    globalSetup: ['test/helpers/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Every file has a gateway, many have PostgreSQL and processes of their own beside it: more files at once only wait for each other.
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'behaviour', include: ['test/**/*.test.ts'], exclude: ['test/browser/**'] } },
      // Needs Chromium, so it is asked for by name: `npm run test:browser`.
      { extends: true, test: { name: 'browser', include: ['test/browser/*.test.ts'] } },
    ],
  },
});
