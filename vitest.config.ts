import { existsSync, statfsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { NOT_SHARDED_FILES } from './test/support/not-on-citus.ts';

/** Tests of pure code: no PostgreSQL, no gateway. */
const UNIT = ['test/**/*.unit.test.ts'];
/** Projects of their own below. */
const APART = ['test/{browser,conformance,faults,process,proof,upgrade,widest}/**'];
/** Tests of a cluster of Citus itself. */
const OF_CITUS = ['test/citus/**'];

/** In full, as `npm run proof` runs them, many tests take minutes. */
const FULL = process.env['PROOF'] === 'full';
/** Only ends tests that hang. Where other programs share the cores, a test takes five times as long as on a machine of its own. */
const TIMEOUT_MS = 900_000;

/** Linux keeps the files of this folder in memory, where a database is copied in a tenth of the time that a disk takes. */
const MEMORY = '/dev/shm';
const MEMORY_NEEDED_BYTES = 4 * 2 ** 30;
// Full runs also measure, so they write to a disk. The workers and all processes that tests start inherit this.
if (!FULL && freeBytes(MEMORY) > MEMORY_NEEDED_BYTES) process.env['TMPDIR'] ??= MEMORY;

function freeBytes(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/**
 * What a gateway keeps in its process, and another one has to find in the database: these files run once more, through two gateways behind a
 * load balancer. Files whose tests start a second gateway by themselves come through the balancer in full runs alone.
 */
const SHARED_STATE = [
  'test/domains/session-events/{subscription,tail}.test.ts',
  'test/domains/mcp-connections/authorization.test.ts',
  'test/gateway/admission/{authentication,browser-session,rate-limits}.test.ts',
  'test/gateway/graphql/trusted-documents.test.ts',
  'test/gateway/idempotency/{claims,key-rotation,standing-rights}.test.ts',
  'test/gateway/authorization-server/{device,flow}.test.ts',
];
const SHARED_STATE_TOO = [
  'test/domains/session-events/append.test.ts',
  'test/domains/api-keys/*.test.ts',
  'test/domains/event-definitions/races.test.ts',
  'test/domains/invitations/{races,rules}.test.ts',
  'test/domains/mcp-connections/{changes,token-refresh}.test.ts',
  'test/domains/organization-deletions/races.test.ts',
  'test/domains/memberships/leaving.test.ts',
  'test/domains/organizations/races.test.ts',
  'test/gateway/idempotency/{replays,twins}.test.ts',
];

/** What depends on connections to the database, once each: these files run once more, through a pooler. */
const CONNECTIONS = [
  'test/core/jobs.test.ts',
  'test/core/postgres/**/*.test.ts',
  'test/domains/session-events/{append,crowd,subscription,tail,tail-bounds}.test.ts',
  'test/domains/{event-definitions,event-occurrences,invitations,organizations,user-deletions}/races.test.ts',
  'test/domains/sessions/lock-order.test.ts',
  'test/gateway/admission/rate-limits.test.ts',
  'test/gateway/idempotency/{claims,key-rotation,twins}.test.ts',
  'test/gateway/authorization-server/flow.test.ts',
];
/** What uses them as those do. */
const CONNECTIONS_TOO = [
  'test/domains/event-occurrences/rules.test.ts',
  'test/domains/mcp-connections/token-refresh.test.ts',
  'test/domains/organization-deletions/races.test.ts',
  'test/domains/sessions/lists.test.ts',
  'test/domains/user-deletions/job.test.ts',
  'test/gateway/idempotency/replays.test.ts',
];

export default defineConfig({
  // Without these conditions vitest loads two copies of graphql ("another module or realm").
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    expect: { poll: { timeout: 240_000 } },
    // Many files wait for processes that they start: three workers keep two cores busy, more only wait for each other.
    maxWorkers: 3,
    // The files of a worker share their modules: loading them again for each file took a third of the time.
    isolate: false,
    setupFiles: ['test/support/property-seed.ts'],
    reporters: ['default', './test/tools/closing-lines.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: UNIT } },
      {
        extends: true,
        test: {
          name: 'behavior',
          include: ['test/**/*.test.ts'],
          exclude: [...APART, ...OF_CITUS, ...UNIT],
          setupFiles: ['test/support/checked-statements.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // `npm run test:several`
      {
        extends: true,
        test: {
          name: 'several',
          include: [...SHARED_STATE, ...(FULL ? SHARED_STATE_TOO : [])],
          // Clients are limited by each process, and here all are one: the load balancer.
          exclude: [...UNIT, 'test/gateway/admission/client-limits.test.ts'],
          env: { GATEWAYS: '2' },
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/single-process-only.ts'],
        },
      },
      // Needs PgBouncer: `npm run test:pooled`.
      {
        extends: true,
        test: {
          name: 'pooled',
          include: [...CONNECTIONS, ...(FULL ? CONNECTIONS_TOO : [])],
          exclude: UNIT,
          env: { POOLER: '1' },
          setupFiles: ['test/support/without-pooler-only.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // Needs a cluster of Citus, which `CITUS_URL` names: `npm run test:citus`.
      {
        extends: true,
        test: {
          name: 'citus',
          include: ['test/**/*.test.ts'],
          exclude: [...APART, ...UNIT, ...NOT_SHARDED_FILES],
          env: { CITUS: '1' },
          setupFiles: ['test/support/citus-only.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // Needs Chromium: `npm run test:browser`.
      {
        extends: true,
        test: { name: 'browser', include: ['test/browser/*.test.ts'], globalSetup: ['test/support/global-setup.ts'] },
      },
      // Needs the packages of test/conformance, which `npm run test:conformance` installs.
      {
        extends: true,
        test: {
          name: 'conformance',
          include: ['test/conformance/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // Needs the history of Git and the registry of npm: `npm run test:upgrade`.
      {
        extends: true,
        test: {
          name: 'upgrade',
          include: ['test/upgrade/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // Tests that start the gateway as a process: `npm run test:process`. They mostly wait for it.
      {
        extends: true,
        test: { name: 'process', include: ['test/process/*.test.ts'], globalSetup: ['test/support/global-setup.ts'] },
      },
      // Kills, full disks, moved clocks and crowds: `npm run test:faults`.
      {
        extends: true,
        test: { name: 'faults', include: ['test/faults/*.test.ts'], globalSetup: ['test/support/global-setup.ts'] },
      },
      // The widest inputs, one after the other, because `npm run proof` measures how long others wait: `npm run test:widest`.
      {
        extends: true,
        test: {
          name: 'widest',
          include: ['test/widest/*.test.ts'],
          fileParallelism: false,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      // Minutes of load, and goals in time and memory, one after the other: `npm run proof` alone.
      {
        extends: true,
        test: {
          name: 'proof',
          include: ['test/proof/*.test.ts'],
          fileParallelism: false,
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
});
