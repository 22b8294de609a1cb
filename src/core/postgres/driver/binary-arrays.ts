import pg from 'pg';

/**
 * Lists as values of statements, in PostgreSQL's binary format of arrays (`array_recv` in its source). It reads them
 * faster than text, which takes a quarter of the time of a statement that stores a thousand rows.
 */

const { builtins } = pg.types;

/** Writes a value at a position, and returns the position after it. */
type Write<Value> = (bytes: Buffer, value: Value, at: number) => number;

/** A value of the type `text[]`. */
export const textArray = (values: readonly string[]): Buffer =>
  arrayOf(builtins.TEXT, values, sizeOfTexts(values), writeText);

/** A value of the type `json[]`, of JSON texts. */
export const jsonArray = (values: readonly string[]): Buffer =>
  arrayOf(builtins.JSON, values, sizeOfTexts(values), writeText);

/** A value of the type `uuid[]`, of UUIDs in their hyphenated form. */
export function uuidArray(values: readonly (string | null)[]): Buffer {
  let [last, lastAt] = ['', 0];
  return arrayOf<string>(builtins.UUID, values, values.length * 16, (bytes, uuid, at) => {
    // Equal ids often follow each other, and copying takes a fifth of the time.
    if (uuid === last) bytes.copyWithin(at, lastAt, lastAt + 16);
    else bytes.write(uuid.replaceAll('-', ''), at, 'hex');
    [last, lastAt] = [uuid, at];
    return at + 16;
  });
}

/** A value of the type `timestamptz[]`, of times in ISO 8601. Fractions of milliseconds are cut off. */
export const timestamptzArray = (values: readonly (string | null)[]): Buffer =>
  arrayOf(builtins.TIMESTAMPTZ, values, values.length * 8, writeTime);

/** The numbers of dimensions (1) and whether there are nulls, the type, the number of values, and the index of the first (1). */
const HEADER_BYTES = 20;
/** The size of a value, which precedes it. */
const SIZE_BYTES = 4;
const NULL_SIZE = -1;

/** @param maxBytes At least the size of all values. */
function arrayOf<Value>(
  type: number,
  values: readonly (Value | null)[],
  maxBytes: number,
  write: Write<Value>,
): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + SIZE_BYTES * values.length + maxBytes);
  let at = HEADER_BYTES;
  for (const value of values) {
    const start = at + SIZE_BYTES;
    const end = value === null ? start : write(bytes, value, start);
    bytes.writeInt32BE(value === null ? NULL_SIZE : end - start, at);
    at = end;
  }
  const header = [1, values.includes(null) ? 1 : 0, type, values.length, 1];
  for (const [index, value] of header.entries()) bytes.writeInt32BE(value, index * 4);
  return bytes.subarray(0, at);
}

const sizeOfTexts = (values: readonly string[]): number =>
  values.reduce((size, text) => size + Buffer.byteLength(text), 0);

const writeText: Write<string> = (bytes, text, at) => at + bytes.write(text, at);

/** Times are counted in microseconds from this one. */
const EPOCH = Date.UTC(2000, 0, 1);
const HALF = 2 ** 32;

/** Writes both halves of the 64 bits as numbers, because a BigInt takes as long as `Date.parse`. */
const writeTime: Write<string> = (bytes, time, at) => {
  const ms = Date.parse(time) - EPOCH;
  const high = Math.floor(ms / HALF);
  const low = (ms - high * HALF) * 1000;
  bytes.writeInt32BE(high * 1000 + Math.floor(low / HALF), at);
  return bytes.writeUInt32BE(low % HALF, at + 4);
};
