import { resolveBatched } from '../../core/graphql/batches.ts';
import { OWN_STATEMENT, builder, ownStatements } from '../../core/graphql/builder.ts';
import { type FieldsOf, resolveNode } from '../../core/graphql/nodes.ts';
import { isUuid } from '../../core/ids.ts';
import { shown } from '../../core/graphql/derived-fields.ts';
import { filterType } from '../../core/graphql/derived-inputs.ts';
import { enumOf } from '../../core/graphql/enums.ts';
import { refusable } from '../../core/graphql/refusable.ts';
import { keysOf } from '../../core/keys-of.ts';
import { inGraphQL } from '../../core/text/wording.ts';
import { needs } from '../../core/graphql/selection.ts';
import { OrganizationType } from '../organizations/graphql/types.ts';
import type { OrganizationRow } from '../organizations/public.ts';
import { SessionFilterInput } from '../sessions/graphql/operations.ts';
import { BEFORE, FROM, USAGE_GROUPS, type UsageGroup, usageFilter, usageReportInput } from './input.ts';
import { type UsageRow, labelsOf, readUsageReport } from './operations.ts';
import type { UsageAmounts } from './queries.ts';
import { type SessionCount, countSessions } from './session-counts.ts';
import { reportDocument, rowDocument, sessionCountDocument, totalsDocument } from './documents.ts';

/** What a row or a count is about: its key is an id for some groups. */
interface Keyed {
  readonly key: string | null;
  readonly groupBy?: UsageGroup;
}

const subjectField = (t: FieldsOf<Keyed>) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description:
      'The project, person or service account of the key. Null for other groups, and when the caller cannot see it.',
    extensions: ownStatements(2),
    resolve: async ({ key, groupBy }, _, context, info) => {
      const find = (type: string) => resolveNode({ context, info }, type, key !== null && isUuid(key) ? key : null);
      if (groupBy === 'PROJECT') return find('Project');
      return groupBy === 'CREATOR' ? ((await find('User')) ?? find('ServiceAccount')) : null;
    },
  });

const UsageRowType = builder.objectRef<UsageRow & Keyed>('UsageReportRow').implement({
  description:
    'What a day, an agent, a model, a project, a creator or a tool has used. Of the amounts each is null when nobody has reported it.',
  fields: (t) => ({
    ...shown(t, rowDocument, keysOf(rowDocument.shape), { integers: 'Float' }),
    subject: subjectField(t),
  }),
});

const UsageTotalsType = builder.objectRef<UsageAmounts>('UsageReportTotals').implement({
  description: 'The sums of all rows of a usage report. Each is null when nobody has reported it.',
  fields: (t) => shown(t, totalsDocument, keysOf(totalsDocument.shape), { integers: 'Float' }),
});

const UsageReportType = builder
  .objectRef<{ readonly rows: readonly (UsageRow & Keyed)[]; readonly totals: UsageAmounts }>('UsageReport')
  .implement({
    description: 'What the sessions of an organization have used.',
    fields: (t) => ({
      rows: t.expose('rows', { type: [UsageRowType], description: reportDocument.shape.rows.description }),
      totals: t.expose('totals', { type: UsageTotalsType, description: reportDocument.shape.totals.description }),
    }),
  });

const UsageGroupEnum = enumOf(
  'UsageReportGroup',
  'What each row of a usage report is about.',
  USAGE_GROUPS,
  (group) => `${group === 'AGENT' ? 'An' : 'A'} ${group.toLowerCase()}.`,
);
const UsageFilterInput = filterType('UsageReportConditions', usageFilter, {
  ids: { projectIds: 'Project', creatorIds: 'Actor', creatorGroupIds: 'Group' },
  types: { projectIds: 'ID' },
});

builder.objectField(OrganizationType, 'usageReport', (t) =>
  t.field({
    type: UsageReportType,
    description: inGraphQL(readUsageReport.declaration.description),
    args: {
      from: t.arg({ type: 'Date', required: true, description: FROM }),
      before: t.arg({ type: 'Date', description: `${BEFORE} Required, but for the older name \`until\`.` }),
      until: t.arg({
        type: 'Date',
        description: 'As `before`.',
        deprecationReason: 'Use `before`. Removed on 2027-12-01.',
      }),
      groupBy: t.arg({ type: UsageGroupEnum, description: 'What each row is about. When absent, a day.' }),
      filter: t.arg({ type: UsageFilterInput, description: 'When absent, everything is summed.' }),
    },
    validate: usageReportInput,
    // The second one reads the names of what the rows are about.
    extensions: { ...ownStatements(2), ...refusable(readUsageReport.access, { actingOrganization: true }) },
    // The validation has put the one that is given there.
    resolve: async (_, { from, before, groupBy, filter }, context) => {
      const { rows, totals } = await readUsageReport(context, { from, before: before ?? '', groupBy, filter });
      return { rows: rows.map((row) => ({ ...row, groupBy: groupBy ?? 'DAY' })), totals };
    },
  }),
);

const SessionCountType = builder.objectRef<SessionCount & Keyed>('SessionCount').implement({
  description: 'How many sessions a day, an agent, a model, a project, a creator or a tool has.',
  fields: (t) => ({
    ...shown(t, sessionCountDocument, keysOf(sessionCountDocument.shape)),
    label: t.string({
      description: 'What a person reads for the key: the name of a project or account, else the key, or `none`.',
      extensions: OWN_STATEMENT,
      resolve: async ({ key, groupBy }, _, context, info) => {
        if (key === null || (groupBy !== 'PROJECT' && groupBy !== 'CREATOR')) return key ?? 'none';
        const load = (keys: readonly string[]) => labelsOf(context, groupBy, keys);
        return resolveBatched({ context, info }, key, load, [groupBy], key);
      },
    }),
    subject: subjectField(t),
  }),
});

builder.objectField(OrganizationType, 'sessionCounts', (t) =>
  t.field({
    type: [SessionCountType],
    description: inGraphQL(countSessions.declaration.description),
    args: {
      groupBy: t.arg({ type: UsageGroupEnum, description: 'What each count is about. When absent, a day.' }),
      filter: t.arg({
        type: SessionFilterInput,
        description: 'Conditions on the sessions. When absent, all sessions are counted.',
      }),
    },
    extensions: {
      ...OWN_STATEMENT,
      ...refusable(countSessions.access, { actingOrganization: true }),
      ...needs<OrganizationRow>('id'),
    },
    resolve: async ({ id: organizationId }, { groupBy, filter }, context) => {
      const counts = await countSessions(context, { organizationId, groupBy, filter });
      return counts.map((count) => ({ ...count, groupBy: groupBy ?? 'DAY' }));
    },
  }),
);
