import pg from 'pg';

/** How the driver parses values, which PostgreSQL sends as text. */
export type Parse = (text: string) => unknown;

/** `2026-03-01 10:20:30.5+00`, or in JSON `2026-03-01T10:20:30.5+00:00`, as ISO 8601 in UTC with milliseconds. */
export function toIso(text: string): string {
  return text.endsWith('+00') || text.endsWith('+00:00') ? toIsoInUtc(text) : toIsoFromOffset(text);
}

/** The same with another time zone, as behind a pooler. Offsets of earlier centuries have seconds. */
function toIsoFromOffset(text: string): string {
  const [offset = '', sign, hours = 0, minutes = 0, seconds = 0] =
    /([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/.exec(text) ?? [];
  const offsetMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  const local = Date.parse(toIsoInUtc(`${text.slice(0, text.length - offset.length)}+00`));
  return new Date(sign === '-' ? local + offsetMs : local - offsetMs).toISOString();
}

function toIsoInUtc(text: string): string {
  // Most times have six decimal places, or none.
  const point = text.indexOf('.', 19);
  if (point !== 19) return `${text.slice(0, 10)}T${text.slice(11, 19)}.000Z`;
  const end = text.lastIndexOf('+');
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, Math.min(23, end)).padEnd(3, '0')}Z`;
}

const { builtins } = pg.types;
/** Event ids and counts are far below 2^53. */
const OURS = new Map<number, Parse>([
  [builtins.INT8, Number],
  [builtins.TIMESTAMPTZ, toIso],
  [builtins.DATE, (text) => text],
]);

/** The parsers for all statements: times as ISO 8601 text, `bigint` as a number. */
export const WIRE_TYPES = {
  getTypeParser(type: number, format?: string): Parse {
    return OURS.get(type) ?? (pg.types.getTypeParser(type, format as 'text') as Parse);
  },
};
