import {
  type ChangeSet,
  type EntityManager,
  type EventSubscriber,
  type FlushEventArgs,
  type InferKyselyDB,
  type TransactionEventArgs,
  defineEntity,
  p,
} from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { OrganizationId, UserId } from './ids.ts';
import { numberRows } from './postgres/numbering.ts';
import { listOf } from './postgres/reading/queries.ts';
import type { Notifier } from './postgres/notifications.ts';

/**
 * The feed of an organization: one entry for each change that others wait for, written in the transaction of the change. Reading it is
 * in `domains/feed`. Entries have ids and states, no texts and no addresses.
 */

export const FEED_TYPES = [
  'session.created',
  'session.state_changed',
  'session.pull_request_changed',
  'session.deleted',
  'mcp_connection.status_changed',
  'mcp_connection.deleted',
  'mcp_connection.tools_changed',
  'tool_approval.requested',
  'tool_approval.decided',
  'event_definition.created',
  'event_definition.changed',
  'event_definition.deleted',
  'event_occurrences.sent',
  'member.joined',
  'member.left',
  'deletion_job.finished',
  'webhook.failing',
  'webhook.disabled',
] as const;
export type FeedType = (typeof FEED_TYPES)[number];

export const FEED_SUBJECTS = [
  'Session',
  'McpServer',
  'ToolApproval',
  'EventDefinition',
  'User',
  'DeletionJob',
  'Webhook',
] as const;
export type FeedSubject = (typeof FEED_SUBJECTS)[number];

const FeedStreamSchema = defineEntity({
  name: 'FeedStream',
  tableName: 'feed_stream',
  properties: {
    /** Not a foreign key, whose check would lock the organization after the feed. */
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    lastId: p.bigint('number'),
  },
});

/** The head of a feed: the last number. Numbering locks its row until the commit, so that ids become visible in their order. */
export class FeedStream extends FeedStreamSchema.class {}
FeedStreamSchema.setClass(FeedStream);

const FeedEntrySchema = defineEntity({
  name: 'FeedEntry',
  tableName: 'feed_entry',
  properties: {
    organizationId: p.uuid().$type<OrganizationId>().primary(),
    key: p.uuid().primary(),
    /** Null until the entry is numbered, by the first reader after the commit. */
    id: p.bigint('number').nullable(),
    /** By the clock of the database, and within a transaction: the order of numbering. */
    recordedAt: p.datetime(6),
    position: p.integer(),
    createdAt: p.datetime(),
    type: p.text().$type<FeedType>(),
    subjectType: p.text().$type<FeedSubject>(),
    /** Null for a deleted account. */
    subjectId: p.uuid().nullable(),
    /** The only user who can read the entry; null for everybody with the right to its type. */
    readerId: p.uuid().$type<UserId>().nullable(),
    data: p.json<FeedData>(),
  },
  uniques: [{ name: 'feed_entry_id_unique', properties: ['organizationId', 'id'] }],
  indexes: [
    { name: 'feed_entry_created_index', properties: ['createdAt'] },
    { name: 'feed_entry_unnumbered_index', properties: ['organizationId', 'recordedAt'], where: 'id is null' },
    { name: 'feed_entry_user_index', properties: ['subjectId'], where: `subject_type = 'User'` },
    { name: 'feed_entry_reader_index', properties: ['readerId'], where: 'reader_id is not null' },
  ],
});

/** One entry of a feed. Read as rows, never as entities. */
export class FeedEntry extends FeedEntrySchema.class {}
FeedEntrySchema.setClass(FeedEntry);

export type FeedTables = InferKyselyDB<typeof FeedStreamSchema | typeof FeedEntrySchema>;

export type FeedData = Readonly<Record<string, string | number | null>>;

export interface NewFeedEntry {
  readonly organizationId: OrganizationId;
  readonly type: FeedType;
  readonly subjectType: FeedSubject;
  readonly subjectId: string;
  readonly readerId?: UserId | null | undefined;
  readonly data?: FeedData;
}

/** Topic that is published when something is added to the feed of an organization. */
export function feedTopic(organizationId: OrganizationId): string {
  return `feed:${organizationId}`;
}

/** The entries of each open transaction. */
const collected = new WeakMap<EntityManager, NewFeedEntry[]>();

/** Adds an entry to the feed. It is written at the end of the transaction, after the entries of its entities. */
export function publishToFeed(em: EntityManager, entry: NewFeedEntry): void {
  if (!em.isInTransaction()) throw new Error('the feed is written in the transaction of the change');
  const entries = collected.get(em);
  if (entries) entries.push(entry);
  else collected.set(em, [entry]);
}

interface FeedWriterOptions {
  readonly notifier: Pick<Notifier, 'publish'>;
  readonly now: () => Date;
  /** The entries for the changed entities of a flush. */
  readonly entriesOf: (changes: readonly ChangeSet<object>[]) => readonly NewFeedEntry[];
}

/** Writes the feed before each commit, and announces it afterwards. */
export class FeedWriter implements EventSubscriber {
  readonly #options: FeedWriterOptions;
  readonly #written = new WeakMap<EntityManager, ReadonlySet<OrganizationId>>();

  constructor(options: FeedWriterOptions) {
    this.#options = options;
  }

  async afterFlush({ em, uow }: FlushEventArgs): Promise<void> {
    const changes: readonly ChangeSet<object>[] = uow.getChangeSets();
    for (const entry of this.#options.entriesOf(changes)) publishToFeed(managerOf(em), entry);
    return Promise.resolve();
  }

  async beforeTransactionCommit({ em: given }: TransactionEventArgs): Promise<void> {
    const em = managerOf(given);
    const entries = collected.get(em);
    if (!entries) return;
    collected.delete(em);
    await writeEntries(em, withoutRepeats(entries), this.#options.now());
    this.#written.set(em, new Set(entries.map(({ organizationId }) => organizationId)));
  }

  async afterTransactionCommit({ em: given }: TransactionEventArgs): Promise<void> {
    const em = managerOf(given);
    for (const organizationId of this.#written.get(em) ?? []) this.#options.notifier.publish(feedTopic(organizationId));
    this.#written.delete(em);
    return Promise.resolve();
  }

  async afterTransactionRollback({ em: given }: TransactionEventArgs): Promise<void> {
    const em = managerOf(given);
    collected.delete(em);
    this.#written.delete(em);
    return Promise.resolve();
  }
}

/** Events are typed for the managers of all databases. */
function managerOf(em: object): EntityManager {
  return em as EntityManager;
}

/** Several flushes of one transaction can make the same change. */
function withoutRepeats(entries: readonly NewFeedEntry[]): NewFeedEntry[] {
  return [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()];
}

/** Without a number, for which concurrent changes would have to wait for each other's commits. */
async function writeEntries(em: EntityManager, entries: readonly NewFeedEntry[], at: Date): Promise<void> {
  const lists = [
    listOf(
      'uuid',
      entries.map(({ organizationId }) => organizationId),
    ),
    listOf(
      'text',
      entries.map(({ type }) => type),
    ),
    listOf(
      'text',
      entries.map(({ subjectType }) => subjectType),
    ),
    listOf(
      'uuid',
      entries.map(({ subjectId }) => subjectId),
    ),
    listOf(
      'uuid',
      entries.map(({ readerId }) => readerId ?? null),
    ),
    listOf(
      'text',
      entries.map(({ data = {} }) => JSON.stringify(data)),
    ),
  ];
  await sql`
    insert into feed_entry (organization_id, key, recorded_at, position, created_at, type, subject_type, subject_id, reader_id, data)
    select e.organization_id, gen_random_uuid(), clock_timestamp(), e.position, ${at}::timestamptz, e.type, e.subject_type, e.subject_id,
      e.reader_id, e.data::jsonb
    from unnest(${sql.join(lists)}) with ordinality
      as e(organization_id, type, subject_type, subject_id, reader_id, data, position)`.execute(em.getKysely());
}

/** Numbers the entries of committed transactions, in the order in which they were written. */
export function numberFeed(em: EntityManager, organizationId: OrganizationId): Promise<void> {
  return numberRows(em, organizationId, {
    table: 'feed_entry',
    stream: 'feed_stream',
    number: 'id',
    last: 'last_id',
    key: ['key'],
    order: ['recorded_at', 'position'],
  });
}
