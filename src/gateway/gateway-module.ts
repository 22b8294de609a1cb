import { type Module, DELETION_BATCH, OPEN_TO_ROLE } from '../core/module.ts';
import { StoredSecret } from '../core/secrets/secret-store.ts';
import { RateLimit } from './admission/entity.ts';
import { IdempotencyKey } from './idempotency/entity.ts';
import { deleteExpiredKeys, deleteKeysOfOrganization } from './idempotency/maintenance.ts';

/** What the gateway has beside the nouns. */
export const gatewayModule = {
  entities: [StoredSecret, RateLimit, IdempotencyKey],
  graphql: () => import('./graphql/viewer.ts'),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: { 'idempotency keys': deleteExpiredKeys },
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      {
        name: 'stored answers',
        run: async ({ em }, { id }) => ({ found: await deleteKeysOfOrganization(em, id, DELETION_BATCH) }),
      },
    ],
  },
  // Only the command line rotates secrets.
  replays: { Secret: OPEN_TO_ROLE },
} as const satisfies Module;
