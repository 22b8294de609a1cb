/** Code that the parts of the baseline share. */

export interface Caller {
  readonly keyId: string;
  readonly userId: string;
  readonly organizationId: string;
  readonly organizationNumber: number;
  readonly isAdmin: boolean;
}

export interface Baseline {
  readonly publicUrl: string;
  query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]>;
}

/** A global id, as the gateway encodes it. */
export const globalId = (typename: string, key: string) => btoa(`${typename}:${key}`);

const ENUM_NAMES = new Map<string, string>();
/** The GraphQL name of a stored value. */
export function toEnumName(value: string): string {
  let word = ENUM_NAMES.get(value);
  if (word === undefined) ENUM_NAMES.set(value, (word = value.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()));
  return word;
}
export const toEnumNameOrNull = (value: unknown) => (typeof value === 'string' ? toEnumName(value) : null);

export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

/** `2026-03-01 10:20:30.5+00` as a column, `2026-03-01T10:20:30.5+00:00` within JSON; the session's time zone is UTC. */
export function toIso(text: string): string {
  const fraction = text.charAt(19) === '.' ? text.slice(20, text.indexOf('+', 20)) : '';
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
}
