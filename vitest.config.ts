import { defineConfig } from 'vitest/config';

const BEHAVIOUR = ['test/**/*.test.ts'];
const APART = ['test/{browser,conformance,faults}/**'];
/** About processes, which they start themselves or look into: their workers are killed, their metrics are each one's own. */
const PROCESSES = ['test/process/**', 'test/embedded-postgres*.test.ts', 'test/jobs.test.ts', 'test/metrics.test.ts'];

export default defineConfig({
  // Without these conditions vitest loads two copies of graphql ("another module or realm").
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    globalSetup: ['test/helpers/global-setup.ts'],
    // Only what hangs takes as long, on a busy machine, too.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 30_000 } },
    // Every file has a gateway, many have PostgreSQL and processes of their own beside it: more files at once only wait for each other.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: 'behaviour', include: BEHAVIOUR, exclude: APART },
      },
      // The same through two gateways on one database, behind a load balancer: `npm run test:several`.
      {
        extends: true,
        test: {
          name: 'several',
          include: BEHAVIOUR,
          exclude: [...APART, ...PROCESSES],
          env: { GATEWAYS: '2' },
          setupFiles: ['test/helpers/apart.ts'],
        },
      },
      // Needs Chromium, so it is asked for by name: `npm run test:browser`.
      { extends: true, test: { name: 'browser', include: ['test/browser/*.test.ts'] } },
      // Needs the packages of test/conformance: `npm run test:conformance` installs them.
      { extends: true, test: { name: 'conformance', include: ['test/conformance/*.test.ts'] } },
      // Kills, disks, clocks and crowds: minutes, so they stand apart: `npm run test:faults`.
      { extends: true, test: { name: 'faults', include: ['test/faults/*.test.ts'] } },
    ],
  },
});
