import { type HttpHeaders, answerJson, answerWith } from '../../core/http/messages.ts';
import { routesOf } from '../../core/http/route.ts';
import { reportDocument } from './documents.ts';
import { usageReportParameters } from './input.ts';
import { type UsageReport, readUsageReport } from './operations.ts';
import { REPORT_FIELDS } from './queries.ts';

/** A usage report as CSV (RFC 4180), without the totals. */
function toCsv({ rows }: UsageReport): string {
  const lines = rows.map((row) => [cell(row.key), cell(row.label), ...REPORT_FIELDS.map((field) => row[field] ?? '')]);
  return [['key', 'label', ...REPORT_FIELDS], ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}

/** A spreadsheet runs texts that begin with one of these, also after spaces, so they are marked as text. */
const RUN = /^[\s\0]*[=+\-@|%＝＋－＠]|^[\t\r\n]/;

function cell(text: string | null): string {
  if (text === null) return '';
  const safe = RUN.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const route = routesOf('Organizations');

/** Whether the first media type of the two that the header names is CSV. */
function wantsCsv(headers: HttpHeaders): boolean {
  const accepted = (headers.get('accept') ?? '').toLowerCase().split(',');
  const first = accepted.find((type) => /^\s*(?:text\/csv|application\/json)\s*(?:;|$)/.test(type)) ?? '';
  return first.includes('text/csv');
}

export const usageReportRoutes = [
  route('GET /v1/usage-report', readUsageReport, {
    input: usageReportParameters,
    output: reportDocument,
    mediaTypes: {
      'text/csv':
        'The rows, with a line of names before them and an empty cell for null. Cells that a spreadsheet would run begin with an apostrophe.',
    },
    respond: async (context, { from, until, groupBy, ...filter }, { headers }) => {
      try {
        const report = await readUsageReport(context, { from, until, groupBy, filter });
        if (!wantsCsv(headers)) return answerJson(report);
        return answerWith(toCsv(report), {
          headers: {
            'Content-Type': 'text/csv; charset=utf-8',
            'Content-Disposition': `attachment; filename="usage-${from}-${until}.csv"`,
          },
        });
      } finally {
        context.budget.close();
      }
    },
  }),
];
