import { entryOf } from '../parts/search-operations.ts';

const LISTED = 'id databaseId title agent lastSeenAt';

const SESSION_COUNT = 'key sessions queued inProgress completed failed cancelled';

/** The operations of the overview; a part of `OPERATIONS`. */
export const OVERVIEW_OPERATIONS = {
  Overview: `query Overview($before: Date!, $from: Date!, $until: Date!, $since: DateTime!, $end: DateTime!) {
    viewer { organization { id
      usage: usageReport(from: $from, before: $until, groupBy: DAY) {
        rows { key costUsd inputTokens outputTokens }
        totals { costUsd inputTokens outputTokens }
      }
      earlier: usageReport(from: $before, before: $from) { totals { costUsd inputTokens outputTokens } }
      days: sessionCounts(groupBy: DAY, filter: { createdFrom: $since, createdBefore: $end }) { ${SESSION_COUNT} }
      dearest: sessions(first: 5, filter: { createdFrom: $since, createdBefore: $end }, orderBy: { field: COST, direction: DESC }) {
        nodes { id databaseId title agent usage { costUsd durationMs } }
      }
      tools: usageReport(from: $from, before: $until, groupBy: TOOL) { rows { key label toolCalls toolErrors } }
      running: sessions(first: 5, filter: { states: [IN_PROGRESS] }) { totalCount nodes { ${LISTED} entries(last: 5) { nodes { ${entryOf(1000)} } } } }
      failed: sessions(first: 5, filter: { needsPerson: true, createdFrom: $since, createdBefore: $end }) { totalCount nodes { ${LISTED} failureReason(maxLength: 1000) } }
    } }
  }`,

  OverviewEvents: `query OverviewEvents($from: Date!, $until: Date!) {
    viewer { organization { id eventOccurrencesPerDay(from: $from, before: $until) { day count refusedCount } } }
  }`,

  OverviewNeeds: `query OverviewNeeds($connections: Boolean!, $webhooks: Boolean!, $approvals: Boolean!) {
    viewer { organization { id
      mcpServers(first: 100) @include(if: $connections) { nodes { id databaseId name nextAction status } }
      toolApprovals(first: 100, filter: { states: [PENDING] }) @include(if: $approvals) { nodes { id databaseId toolName viewerCanDecide } }
      webhooks(first: 20, filter: { isEnabled: false }) @include(if: $webhooks) { nodes { id databaseId url } }
    } }
  }`,
} as const;
