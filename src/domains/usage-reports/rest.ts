import { csvHeaders, csvLine, wantsCsv } from '../../core/http/csv.ts';
import { FILE_NAME_HEADER } from '../../core/http/ndjson.ts';
import { answerJson, answerWith } from '../../core/http/messages.ts';
import { routesOf } from '../../core/http/route.ts';
import { reportDocument } from './documents.ts';
import { usageReportParameters } from './input.ts';
import { type UsageReport, readUsageReport } from './operations.ts';
import { REPORT_FIELDS } from './queries.ts';

/** A usage report as CSV (RFC 4180), without the totals. */
function toCsv({ rows }: UsageReport): string {
  const lines = rows.map((row) => [row.key, row.label, ...REPORT_FIELDS.map((field) => row[field])]);
  return [['key', 'label', ...REPORT_FIELDS], ...lines].map(csvLine).join('');
}

/** By which a spreadsheet knows that the text is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

const route = routesOf('Organizations');

export const usageReportRoutes = [
  route('GET /v1/usage-report', readUsageReport, {
    input: usageReportParameters,
    output: reportDocument,
    mediaTypes: {
      'text/csv':
        'The rows, with a line of names before them and an empty cell for null. Cells that a spreadsheet would run begin with an apostrophe.',
    },
    answerHeaders: FILE_NAME_HEADER,
    respond: async (context, input, { headers }) => {
      const { from, before, groupBy, bom, format } = input;
      const { agents, models, projectIds, creatorIds, creatorGroupIds } = input;
      try {
        const report = await readUsageReport(context, {
          from,
          before,
          groupBy,
          filter: { agents, models, projectIds, creatorIds, creatorGroupIds },
        });
        if (!wantsCsv(headers, 'application/json', format)) return answerJson(report);
        const csv = (bom === true ? BYTE_ORDER_MARK : '') + toCsv(report);
        return answerWith(csv, { headers: csvHeaders(`usage-${from}-${before}`) });
      } finally {
        context.budget.close();
      }
    },
  }),
];
