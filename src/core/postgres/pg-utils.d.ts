declare module 'pg/lib/utils.js' {
  /** How the driver writes the values of a statement. */
  export function prepareValue(value: unknown): string | Buffer | null;
}
