import { z } from 'zod';
import { documentOf } from '../../core/http/documents.ts';
import { type HttpHeaders, answerJson, answerWith } from '../../core/http/messages.ts';
import { route } from '../../core/http/route.ts';
import { toCsv } from './csv.ts';
import { usageReportParameters } from './input.ts';
import { readUsageReport } from './operations.ts';
import { ofEachAmount } from './queries.ts';
import { USAGE_REPORT_TEXTS, USAGE_ROW_TEXTS } from './texts.ts';

const { key, label, ...AMOUNT_TEXTS } = USAGE_ROW_TEXTS;

const AMOUNTS = ofEachAmount((field) => (field === 'costUsd' ? z.number() : z.int()).nullable());

const rowDocument = documentOf(
  { key, label, ...AMOUNT_TEXTS },
  { key: z.string().nullable(), label: z.string(), ...AMOUNTS },
).meta({ id: 'UsageReportRow' });
const totalsDocument = documentOf(AMOUNT_TEXTS, AMOUNTS).meta({ id: 'UsageReportTotals' });
const reportDocument = documentOf(USAGE_REPORT_TEXTS, { rows: z.array(rowDocument), totals: totalsDocument }).meta({
  id: 'UsageReport',
});

const totals = {
  sessions: 14,
  failedSessions: 1,
  turns: 60,
  inputTokens: 120_000,
  outputTokens: 34_000,
  cachedInputTokens: 900_000,
  costUsd: 4.2,
  toolCalls: 310,
  toolErrors: 12,
  durationMs: 1_840_000,
};

/** Whether the first media type of the two that the header names is CSV. */
function wantsCsv(headers: HttpHeaders): boolean {
  const accepted = (headers.get('accept') ?? '').toLowerCase().split(',');
  const first = accepted.find((type) => /^\s*(?:text\/csv|application\/json)\s*(?:;|$)/.test(type)) ?? '';
  return first.includes('text/csv');
}

export const usageReportRoutes = [
  route(readUsageReport, {
    method: 'GET',
    path: '/v1/usage-report',
    tag: 'Organizations',
    input: usageReportParameters,
    output: reportDocument,
    status: 200,
    examples: { output: { rows: [{ key: 'coder', label: 'coder', ...totals }], totals } },
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
