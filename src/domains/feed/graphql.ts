import { FEED_SUBJECTS, FEED_TYPES } from '../../core/feed.ts';
import { type GraphQLContext, builder, ownStatements } from '../../core/graphql/builder.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { toGlobalId, uuidsOf } from '../../core/graphql/global-ids.ts';
import { nodeType, resolveNode } from '../../core/graphql/nodes.ts';
import { listType } from '../../core/graphql/lists.ts';
import { withAccess } from '../../core/graphql/refusable.ts';
import { needs } from '../../core/graphql/selection.ts';
import type { Resumption } from '../../core/live-tails.ts';
import { organizationList } from '../organizations/graphql/organization-list.ts';
import { cursorId, relayCursorId } from '../session-events/public.ts';
import { type FeedFilter, feedFilter } from './input.ts';
import { pageOfFeed, readFeedEntries, tailFeed } from './operations.ts';
import { READ_FEED } from './policy.ts';
import type { FeedEntryRow } from './queries.ts';
import { feedEntryDocument } from './documents.ts';
import { FEED_TYPE_TEXTS } from './texts.ts';

export const FeedEntryTypeEnum = enumOf('FeedEntryType', 'What has changed.', FEED_TYPES, FEED_TYPE_TEXTS);

export const FeedEntryType = nodeType<FeedEntryRow>('FeedEntry', {
  description: 'An entry of the feed of an organization: a change that others may wait for.',
  keyOf: ({ organizationId, id }) => `${organizationId}:${id}`,
  keyColumns: ['organizationId', 'id'],
  load: (context, keys) => readFeedEntries(context, keys.flatMap(entryKeyOf)),
  fields: (t) => ({
    databaseId: t.expose('id', {
      type: 'DatabaseId',
      description: `The id that REST uses. ${feedEntryDocument.shape.id.description} \`feed(after:)\` takes it.`,
    }),
    ...shown(t, feedEntryDocument, ['type', 'createdAt']),
    data: t.expose('data', { type: 'JSON', description: feedEntryDocument.shape.data.description }),
    subjectType: t.exposeString('subjectType', {
      description: `Type of the changed object: ${FEED_SUBJECTS.map((name) => `\`${name}\``).join(', ')}.`,
    }),
    subjectId: t.id({
      nullable: true,
      description: 'Global id of the changed object, which may have been deleted since. Null for a deleted account.',
      extensions: needs<FeedEntryRow>('subjectType', 'subjectId'),
      resolve: ({ subjectType, subjectId }) => subjectId && toGlobalId(subjectType, subjectId),
    }),
    subject: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description: 'The changed object as it is now. Null when it was deleted or the caller cannot see it.',
      extensions: { ...ownStatements(FEED_SUBJECTS.length), ...needs<FeedEntryRow>('subjectType', 'subjectId') },
      resolve: ({ subjectType, subjectId }, _, context, info) => resolveNode({ context, info }, subjectType, subjectId),
    }),
  }),
});

function entryKeyOf(key: string) {
  const [given = '', id = ''] = key.split(':');
  const [organizationId] = uuidsOf([given]);
  return organizationId !== undefined && /^\d{1,15}$/.test(id) ? [{ organizationId, id: Number(id) }] : [];
}

const FEED_LIST = listType(FeedEntryType, {
  of: 'entries of the feed',
  filter: filterType('FeedEntryFilter', feedFilter),
  conditions: 'Conditions on the entries. When absent, all entries are listed.',
  fields: { ID: 'The id, which is the order of the commits.' },
  otherwise: { field: 'ID', direction: 'ASC' },
});
organizationList('feed', FEED_LIST, pageOfFeed);

builder.subscriptionField('feed', (t) =>
  t.field({
    type: FeedEntryType,
    extensions: { access: READ_FEED },
    description: withAccess(
      'Sends the entries of the feed of the acting organization after `after`, and then each new one as it is committed, once and in order. To resume, reconnect with the header `Last-Event-ID`, or set `after` to the `databaseId` of the last entry seen.',
      READ_FEED,
      'Ends with an error when the caller loses the right to read it.',
    ),
    args: {
      after: t.arg.id({
        description:
          'The last entry seen: its `databaseId` as a number or text, or its cursor. When absent, entries are sent from the first one that is kept. The header `Last-Event-ID` takes precedence.',
      }),
      types: t.arg({
        type: [FeedEntryTypeEnum],
        description: 'Entries of any of these types. When absent, of all types.',
      }),
    },
    subscribe: (_, { after, types }, context) => subscribeToFeed(context, after, types),
    resolve: (entry) => entry,
  }),
);

/** Ids of events are only needed over server-sent events. */
const withoutResumption = (): Resumption => ({ lastEventId: null });

async function* subscribeToFeed(
  context: GraphQLContext,
  after: string | number | null | undefined,
  types: FeedFilter['types'],
): AsyncGenerator<FeedEntryRow, void, undefined> {
  const { signal, resumption = withoutResumption() } = context;
  const given = relayCursorId(after, 'after');
  const last = cursorId(resumption.lastEventId, 'Last-Event-ID') ?? given ?? 0;
  for await (const entries of await tailFeed(context, { after: last, types, signal }))
    for (const entry of entries) {
      resumption.eventId = String(entry.id);
      yield entry;
    }
}
