import type { Module } from '../../core/module.ts';

/** Its addresses are in `gateway/scim.ts`, because they have other forms than the REST API; its tables are those of memberships and groups. */
export const scim = {
  entities: [],
  graphql: () => Promise.resolve(),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: {},
  topics: [],
  deletionSteps: { ofUser: [], ofOrganization: [] },
  exports: [],
  replays: {},
} as const satisfies Module;
