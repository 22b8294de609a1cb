import { exportedList } from '../../core/exported-pages.ts';
import type { Module } from '../../core/module.ts';
import { deletionStep, DELETION_BATCH, OPEN_TO_ROLE } from '../../core/module.ts';
import { toBroadcast } from './documents.ts';
import { Broadcast, BroadcastChannel } from './entity.ts';
import { BROADCASTS, deleteBroadcastsOf } from './queries.ts';
import { broadcastRoutes } from './rest.ts';

export const broadcasts = {
  entities: [Broadcast, BroadcastChannel],
  graphql: () => Promise.resolve(),
  routes: broadcastRoutes,
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [deletionStep('broadcasts', ({ em }, { id }) => deleteBroadcastsOf(em, id, DELETION_BATCH))],
  },
  exports: [exportedList('broadcast', BROADCASTS, { lineOf: toBroadcast })],
  replays: { Broadcast: OPEN_TO_ROLE, BroadcastChannel: OPEN_TO_ROLE },
} as const satisfies Module;
