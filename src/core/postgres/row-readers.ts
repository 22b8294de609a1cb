import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { type Parse, WIRE_TYPES } from './wire-types.ts';

/** What PostgreSQL sends for each column of a result. */
export interface Field {
  readonly name: string;
  /** The OID of its type. */
  readonly dataTypeID: number;
}

/** Creates a row from the texts of its columns. */
export type ReadRow = (texts: readonly (string | null)[]) => object;

const parserOf = ({ dataTypeID }: Field): Parse => WIRE_TYPES.getTypeParser(dataTypeID);

/** For rows that are read a few times. */
export function rowReader(fields: readonly Field[]): ReadRow {
  const names = fields.map(({ name }) => name);
  const parsers = fields.map(parserOf);
  return (texts) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) {
      const text = texts[index];
      row[names[index] ?? ''] = text == null ? null : parsers[index]?.(text);
    }
    return row;
  };
}

const compiled = new LRUCache<string, ReadRow>({ max: 1_000 });

/** For rows that are read often: it takes three quarters of the time, but a tenth of a millisecond to create. */
export function compiledRowReader(fields: readonly Field[]): ReadRow {
  const key = fields.map(({ name, dataTypeID }) => `${dataTypeID} ${name}`).join();
  let read = compiled.get(key);
  if (!read) compiled.set(key, (read = compile(fields)));
  return read;
}

const unparsed = WIRE_TYPES.getTypeParser(pg.types.builtins.TEXT);

function compile(fields: readonly Field[]): ReadRow {
  const parsers = fields.map(parserOf);
  const columns = fields.map(({ name }, index) => {
    const text = `texts[${index}]`;
    const value = parsers[index] === unparsed ? text : `(${text} === null ? null : parsers[${index}](${text}))`;
    return `${JSON.stringify(name)}: ${value}`;
  });
  // The names are those of our statements, as string literals.
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function('parsers', `return (texts) => ({ ${columns.join(', ')} })`) as (
    parsers: readonly Parse[],
  ) => ReadRow;
  return make(parsers);
}
