import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Without these conditions vitest loads two copies of graphql ("another module or realm").
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
