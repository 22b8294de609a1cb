import type { EntityClass, EntityManager } from '@mikro-orm/postgresql';
import type { AuditTargetType } from './audit.ts';
import type { Exported } from './exported-pages.ts';
import type { AnyRoute, PublicPage } from './http/route.ts';
import type { DeletionJobId, OrganizationId, SessionId } from './ids.ts';
import type { JobHandler } from './jobs.ts';
import type { OperationContext, WorkContext } from './operation.ts';

/**
 * What a noun of `domains` brings to the gateway. Every member is required, so that a noun that forgets one does not compile; what it does not
 * have is an empty list.
 */
export interface Module {
  /** The entities of its tables. */
  readonly entities: readonly EntityClass<object>[];
  /** Imports the files that add its types to the GraphQL schema. Only the gateway calls it, because the types take a second to define. */
  readonly graphql: () => Promise<unknown>;
  readonly routes: readonly AnyRoute[];
  /** Its pages that need no API key. */
  readonly pages: readonly PublicPage[];
  /** Its background jobs. Those that delete an account or an organization run the steps of all nouns. */
  readonly jobs: (steps: DeletionSteps) => readonly JobHandler[];
  /** Deletes expired rows, by what they are. */
  readonly cleanups: Readonly<Record<string, Cleanup>>;
  /** What its live streams follow. */
  readonly topics: readonly FollowedTopic[];
  /** Its steps of the deletion of an account, and of an organization. */
  readonly deletionSteps: DeletionSteps;
  /** What the export of an organization has of it. */
  readonly exports: readonly Exported[];
  /** Whether a stored answer about its objects can be replayed, for each kind of object that its audit log entries name. */
  readonly replays: Readonly<Partial<Record<AuditTargetType, ReplayCheck>>>;
}

/** Deletes a batch of the rows that have expired at a time, with one statement. @returns how many rows; 0 when nothing is left. */
export type Cleanup = (
  em: EntityManager,
  at: Date,
  batch: number,
  /** How long audit log entries are kept; 0 keeps them. */
  settings: { readonly auditRetentionDays: number },
) => Promise<number>;

/** A kind of notification topics, with the query for the versions of their objects. */
export interface FollowedTopic {
  readonly topicOf: (id: string) => string;
  readonly read: (
    reading: Pick<OperationContext, 'sql' | 'now'>,
    ids: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>;
}

/** Maximum number of rows that a deletion step handles in one transaction, and of rows with many dependent rows. */
export const DELETION_BATCH = 5_000;
export const SMALL_DELETION_BATCH = 100;

export interface DeletionTarget {
  readonly deletionJobId: DeletionJobId;
  /** The id of the user or the organization. */
  readonly id: string;
}

/** What a step needs: the transaction, the secret store, the clock and the id generator. */
export type StepContext = Pick<WorkContext, 'em' | 'secrets' | 'now' | 'newId'>;

export interface StepOutcome {
  /** How many rows the step has found. */
  readonly found: number;
  /** Sessions that the step has tried to delete: their live streams are notified. */
  readonly endedSessions?: readonly SessionId[];
  /** The organizations whose lists of sessions have changed. */
  readonly changedOrganizations?: readonly OrganizationId[];
}

/**
 * One step of a deletion, which docs/privacy.md lists. It handles a batch of rows in the caller's transaction, and is repeated until it finds
 * none, so it can be interrupted at any point and run again. A table that refers to users or organizations without a cascading foreign key needs
 * a step; test/domains/user-deletions finds missing steps.
 */
export interface DeletionStep {
  readonly name: string;
  readonly run: (context: StepContext, target: DeletionTarget) => Promise<StepOutcome>;
}

export interface DeletionSteps {
  /** Records of a user in organizations that stay. */
  readonly ofUser: readonly DeletionStep[];
  /** Records of an organization that are too many for one transaction. All others are deleted by cascading foreign keys. */
  readonly ofOrganization: readonly DeletionStep[];
}

/** A step that says how many rows it has found, or which. */
export function deletionStep(
  name: string,
  run: (context: StepContext, target: DeletionTarget) => Promise<number | readonly unknown[]>,
): DeletionStep {
  const foundBy = async (context: StepContext, target: DeletionTarget) => {
    const found = await run(context, target);
    return { found: typeof found === 'number' ? found : found.length };
  };
  return { name, run: foundBy };
}

/**
 * Checks that a stored answer about an object can be replayed to the caller, who has the scopes and the role of the original request.
 * @throws NotFoundError and ForbiddenError like the operation itself.
 */
export type ReplayCheck = (context: OperationContext, id: string, operation: string) => Promise<void>;

/** Every caller with the scopes and the role of the operation can do it on every such object of the organization. */
export const OPEN_TO_ROLE: ReplayCheck = () => Promise.resolve();
