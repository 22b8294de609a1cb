import { type Module, DELETION_BATCH, OPEN_TO_ROLE, deletionStep } from '../core/module.ts';
import { FinishedVersion } from '../core/postgres/finished-version.ts';
import { StoredSecret } from '../core/secrets/secret-store.ts';
import { RateLimit } from './admission/entity.ts';
import { IdempotencyKey } from './idempotency/entity.ts';
import { deleteExpiredKeys, deleteKeysOfOrganization } from './idempotency/maintenance.ts';

/** What the gateway has beside the nouns. */
export const gatewayModule = {
  entities: [StoredSecret, RateLimit, IdempotencyKey, FinishedVersion],
  graphql: () => import('./graphql/viewer.ts'),
  routes: [],
  pages: [],
  jobs: () => [],
  cleanups: { 'idempotency keys': deleteExpiredKeys },
  topics: [],
  deletionSteps: {
    ofUser: [],
    ofOrganization: [
      deletionStep('stored answers', ({ em }, { id }) => deleteKeysOfOrganization(em, id, DELETION_BATCH)),
    ],
  },
  exports: [],
  // Only the command line rotates secrets.
  replays: { Secret: OPEN_TO_ROLE },
} as const satisfies Module;
