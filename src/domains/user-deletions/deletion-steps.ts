import type { EntityManager } from '@mikro-orm/postgresql';
import type { DeletionJobId, OrganizationId } from '../../core/ids.ts';
import { deleteEntriesOf, forgetUserInEntries } from '../audit-log/operations.ts';
import { deleteBroadcastsOf } from '../broadcasts/operations.ts';
import { deleteDefinitionRow, lockDefinitionsOf } from '../event-definitions/operations.ts';
import { deleteIdentifiersOf, purgeOccurrences } from '../event-occurrences/operations.ts';
import { deleteAuthorizationsOf, deleteConnections, forgetConnectionOwner } from '../mcp-connections/operations.ts';
import { type WhoseSessions, deleteSessions, forgetSessionCreator } from '../sessions/operations.ts';
import type { WorkContext } from '../../core/operation.ts';
import { DeletedSession } from './entity.ts';

/**
 * What a deletion consists of; docs/deletion.md is the same as a table. Each step takes a batch of what there is, in the caller's
 * transaction, and returns which rows it found: it is repeated until it finds none, so it may be cut off at any point and run again.
 * A table that refers to users or organizations without a foreign key that cascades needs a step here; test/domains/user-deletions finds
 * those that were forgotten.
 */

/** Rows that a transaction changes, but for what hangs on them. */
export const BATCH = 5_000;
/** Rows that have much hanging on them. */
const SMALL_BATCH = 100;

export interface Target {
  readonly deletionJobId: DeletionJobId;
  /** The user, or the organization. */
  readonly id: string;
}

/** What a step works with: the transaction, and what keeps secrets. */
export type StepContext = Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>;

export interface Step {
  readonly name: string;
  /** @returns the ids of the rows that it found. */
  readonly run: (context: StepContext, target: Target) => Promise<readonly string[]>;
  /** Whether what it finds are sessions, which somebody may follow. */
  readonly endsSessions?: boolean;
}

/** What goes with the account, in organizations that stay. */
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
  // Who has done something is known by their keys, which go with the account; this is what was done to them.
  { name: 'audit entries', run: ({ em }, { id }) => forgetUserInEntries(em, id, BATCH) },
];

/** What an organization contains that is too much for one transaction; the rest goes with its row. */
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

/** Sessions vanish at once with all but their events, and are noted, so that the events follow. */
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

/** Each definition goes when its occurrences are gone. */
async function deleteDefinitions(em: EntityManager, organizationId: OrganizationId): Promise<string[]> {
  const ids = await lockDefinitionsOf(em, organizationId, SMALL_BATCH);
  for (const id of ids) {
    // One batch is enough for one transaction.
    if ((await purgeOccurrences(em, id)) > 0) break;
    await deleteDefinitionRow(em, id);
  }
  return ids;
}
