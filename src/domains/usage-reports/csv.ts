import { REPORT_FIELDS } from './queries.ts';
import type { UsageReport } from './operations.ts';

/** A usage report as CSV (RFC 4180), without the totals. */
export function toCsv({ rows }: UsageReport): string {
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
