import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Without these conditions vitest loads two copies of graphql ("another module or realm").
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
