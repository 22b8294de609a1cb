import { chooseMediaType } from './accept.ts';
import type { HttpHeaders } from './messages.ts';

/** A line of CSV (RFC 4180). */
export const csvLine = (cells: readonly (string | number | null)[]): string =>
  `${cells.map((value) => (typeof value === 'number' ? value : cell(value))).join(',')}\r\n`;

/** A spreadsheet runs texts that begin with one of these, also after spaces, so they are marked as text. */
const RUN = /^[\s\0]*[=+\-@|%＝＋－＠]|^[\t\r\n]/;

function cell(text: string | null): string {
  if (text === null) return '';
  const safe = RUN.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Whether the client prefers CSV to the other form. `format` is that of the query, which precedes the header. */
export const wantsCsv = (
  headers: HttpHeaders,
  other: 'application/json' | 'application/x-ndjson',
  format?: 'csv' | 'ndjson',
): boolean => (format ? format === 'csv' : chooseMediaType(headers.get('accept'), [other, 'text/csv']) === 'text/csv');

export const csvHeaders = (name: string) => ({
  'Content-Type': 'text/csv; charset=utf-8',
  'Content-Disposition': `attachment; filename="${name}.csv"`,
});
