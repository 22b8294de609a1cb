import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeletionJobId, OrganizationId } from '../../core/ids.ts';
import { deleteEntriesOf, forgetUserInEntries } from '../audit-log/public.ts';
import { deleteBroadcastsOf } from '../broadcasts/public.ts';
import { deleteDefinitionRow, lockDefinitionsOf } from '../event-definitions/public.ts';
import { deleteIdentifiersOf, purgeOccurrences } from '../event-occurrences/public.ts';
import { deleteAuthorizationsOf, deleteConnections, forgetConnectionOwner } from '../mcp-connections/public.ts';
import { type WhoseSessions, deleteSessions, forgetSessionCreator } from '../sessions/public.ts';
import type { WorkContext } from '../../core/operation.ts';
import { DeletedSession } from './entity.ts';

/**
 * The steps of a deletion, which docs/deletion.md lists as a table. Each step handles a batch of rows in the caller's
 * transaction and returns their ids. It is repeated until it finds none, so it can be interrupted at any point and run
 * again. A table that refers to users or organizations without a cascading foreign key needs a step here;
 * test/domains/user-deletions finds missing steps.
 */

/** Batch size for rows without dependent rows. */
export const BATCH = 5_000;
/** Batch size for rows with many dependent rows. */
const SMALL_BATCH = 100;

export interface Target {
  readonly deletionJobId: DeletionJobId;
  /** The id of the user or the organization. */
  readonly id: string;
}

/** What a step needs: the transaction, the secret store, the clock and the id generator. */
export type StepContext = Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>;

export interface Step {
  readonly name: string;
  /** Handles one batch. @returns the ids of the rows that it found. */
  readonly run: (context: StepContext, target: Target) => Promise<readonly string[]>;
  /** Whether the ids are those of sessions, whose live tails must be notified. */
  readonly endsSessions?: boolean;
}

/** Records of a user in organizations that stay. */
export const USER_STEPS: readonly Step[] = [
  {
    name: 'private sessions',
    run: ({ em }, { id, deletionJobId }) => removeSessions(em, { privateOf: id }, deletionJobId),
    endsSessions: true,
  },
  { name: 'public sessions', run: ({ em }, { id }) => forgetSessionCreator(em, id, BATCH) },
  {
    name: 'personal connections',
    run: (context, { id }) => deleteConnections(context, { personalOf: id }, SMALL_BATCH),
  },
  { name: 'shared connections', run: ({ em }, { id }) => forgetConnectionOwner(em, id, BATCH) },
  { name: 'authorizations', run: ({ em }, { id }) => deleteAuthorizationsOf(em, id, BATCH) },
  // Entries refer to their author by the API key, which is deleted with the account. This step handles entries about changes of the user.
  { name: 'audit entries', run: ({ em }, { id }) => forgetUserInEntries(em, id, BATCH) },
];

/** Records of an organization that are too many for one transaction. All others are deleted by cascading foreign keys. */
export const ORGANIZATION_STEPS: readonly Step[] = [
  {
    name: 'sessions',
    run: ({ em }, { id, deletionJobId }) => removeSessions(em, { organizationId: id }, deletionJobId),
    endsSessions: true,
  },
  { name: 'connections', run: (context, { id }) => deleteConnections(context, { organizationId: id }, SMALL_BATCH) },
  { name: 'event definitions', run: ({ em }, { id }) => deleteDefinitions(em, id) },
  { name: 'object identifiers', run: ({ em }, { id }) => deleteIdentifiersOf(em, id, BATCH) },
  { name: 'broadcasts', run: ({ em }, { id }) => deleteBroadcastsOf(em, id, BATCH) },
  { name: 'audit entries', run: ({ em }, { id }) => deleteEntriesOf(em, id, BATCH) },
];

/** Deletes sessions without their events, and records their ids, so that the events are deleted later in batches. */
async function removeSessions(
  em: EntityManager,
  whose: WhoseSessions,
  deletionJobId: DeletionJobId,
): Promise<string[]> {
  const { found, deleted } = await deleteSessions(em, whose, SMALL_BATCH);
  if (deleted.length > 0) {
    const notes = deleted.map(({ id, organizationId }) => ({
      sessionId: id,
      organizationId,
      deletionJob: deletionJobId,
    }));
    await em.insertMany(DeletedSession, notes);
  }
  return found;
}

/** Deletes a definition when all its occurrences are deleted. */
async function deleteDefinitions(em: EntityManager, organizationId: OrganizationId): Promise<string[]> {
  const ids = await lockDefinitionsOf(em, organizationId, SMALL_BATCH);
  for (const id of ids) {
    // At most one batch of occurrences is deleted in a transaction.
    if ((await purgeOccurrences(em, id)) > 0) break;
    await deleteDefinitionRow(em, id);
  }
  return ids;
}
