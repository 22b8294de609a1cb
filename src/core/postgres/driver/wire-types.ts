import pg from 'pg';

/** How the driver parses values, which PostgreSQL sends as text. */
export type Parse = (text: string) => unknown;

/** `2026-03-01 10:20:30.5+00`, or in JSON `2026-03-01T10:20:30.5+00:00`, as ISO 8601 in UTC with milliseconds. */
export function toIso(text: string): string {
  if (text.endsWith('+00')) return isoOf(text, text.length - '+00'.length);
  return text.endsWith('+00:00') ? isoOf(text, text.length - '+00:00'.length) : toIsoFromOffset(text);
}

/** @param end The end of the time, which has up to six decimal places. */
function isoOf(text: string, end: number): string {
  const date = text.slice(0, 10);
  if (end >= 23) return `${date}T${text.slice(11, 23)}Z`;
  return end === 19 ? `${date}T${text.slice(11, 19)}.000Z` : `${date}T${text.slice(11, end).padEnd(12, '0')}Z`;
}

/** The same with another time zone, as behind a pooler. Offsets of earlier centuries have seconds. */
function toIsoFromOffset(text: string): string {
  const [offset = '', sign, hours = 0, minutes = 0, seconds = 0] =
    /([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/.exec(text) ?? [];
  const offsetMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  const local = Date.parse(isoOf(text, text.length - offset.length));
  return new Date(sign === '-' ? local + offsetMs : local - offsetMs).toISOString();
}

const { builtins } = pg.types;
/** Many lists are empty, and `JSON.parse` takes four times as long for them. */
const parseJson: Parse = (text) => (text === '[]' ? [] : JSON.parse(text));

/** Event ids and counts are far below 2^53. */
const OURS = new Map<number, Parse>([
  [builtins.INT4, Number],
  [builtins.INT8, Number],
  [builtins.JSON, parseJson],
  [builtins.JSONB, parseJson],
  [builtins.TIMESTAMPTZ, toIso],
  [builtins.DATE, (text) => text],
]);

/** The driver names the types of its own in an enumeration; a database has more. */
const parserOf: (type: number, format: 'text' | undefined) => Parse = pg.types.getTypeParser;

/** The parsers for all statements: times as ISO 8601 text, `bigint` as a number. */
export const WIRE_TYPES = {
  getTypeParser(type: number, format?: string): Parse {
    return OURS.get(type) ?? parserOf(type, format as 'text');
  },
};
