import { OWN_STATEMENT, builder } from '../../core/graphql/builder.ts';
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
import { FROM, UNTIL, USAGE_GROUPS, usageFilter, usageReportInput } from './input.ts';
import { type UsageReport, type UsageRow, readUsageReport } from './operations.ts';
import type { UsageAmounts } from './queries.ts';
import { type SessionCount, countSessions } from './session-counts.ts';
import { reportDocument, rowDocument, sessionCountDocument, totalsDocument } from './documents.ts';

const UsageRowType = builder.objectRef<UsageRow>('UsageReportRow').implement({
  description:
    'What a day, an agent, a model, a project, a creator or a tool has used. Of the amounts each is null when nobody has reported it.',
  fields: (t) => shown(t, rowDocument, keysOf(rowDocument.shape), { integers: 'Float' }),
});

const UsageTotalsType = builder.objectRef<UsageAmounts>('UsageReportTotals').implement({
  description: 'The sums of all rows of a usage report. Each is null when nobody has reported it.',
  fields: (t) => shown(t, totalsDocument, keysOf(totalsDocument.shape), { integers: 'Float' }),
});

const UsageReportType = builder.objectRef<UsageReport>('UsageReport').implement({
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
  (group) => `A ${group.toLowerCase()}.`,
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
      until: t.arg({ type: 'Date', required: true, description: UNTIL }),
      groupBy: t.arg({ type: UsageGroupEnum, description: 'What each row is about. When absent, a day.' }),
      filter: t.arg({ type: UsageFilterInput, description: 'When absent, everything is summed.' }),
    },
    validate: usageReportInput,
    extensions: { ...OWN_STATEMENT, ...refusable(readUsageReport.access, { actingOrganization: true }) },
    resolve: (_, args, context) => readUsageReport(context, args),
  }),
);

const SessionCountType = builder.objectRef<SessionCount>('SessionCount').implement({
  description: 'How many sessions a day, an agent, a model, a project, a creator or a tool has.',
  fields: (t) => shown(t, sessionCountDocument, keysOf(sessionCountDocument.shape)),
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
    resolve: ({ id: organizationId }, { groupBy, filter }, context) =>
      countSessions(context, { organizationId, groupBy, filter }),
  }),
);
