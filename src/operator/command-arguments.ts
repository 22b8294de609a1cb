import { parseArgs } from 'node:util';
import { suggestion } from '../core/text/suggestion.ts';

/** A mistake of the operator. The command line prints only its message, without a stack. */
export class UsageError extends Error {}

/** An option or an argument: how it is written, what it means, and what its text becomes. */
export interface Parameter<Value = unknown> {
  /** Such as `--email E`, `--all` or `FILE`. */
  readonly usage: string;
  readonly meaning: string;
  /** How the first line of the help shows it. */
  readonly shown: string;
  /** @throws UsageError for invalid texts. */
  readonly read: (given: readonly string[], name: string) => Value;
}

/** What the text of a parameter becomes. @throws UsageError that names the parameter. */
type Reader<Value> = (text: string, name: string) => Value;

export const asText: Reader<string> = (text) => text;

export const required = <Value>(usage: string, meaning: string, read: Reader<Value>): Parameter<Value> => ({
  usage,
  meaning,
  shown: usage,
  read: ([text], name) => {
    if (!text) throw new UsageError(`${name}: is required`);
    return read(text, name);
  },
});

export const optional = <Value>(usage: string, meaning: string, read: Reader<Value>): Parameter<Value | undefined> => ({
  usage,
  meaning,
  shown: `[${usage}]`,
  read: ([text], name) => (text === undefined ? undefined : read(text, name)),
});

export const repeated = <Value>(
  usage: string,
  meaning: string,
  read: Reader<Value>,
): Parameter<Value[] | undefined> => ({
  usage,
  meaning,
  shown: `[${usage}]...`,
  read: (given, name) => (given.length === 0 ? undefined : [...new Set(given.map((text) => read(text, name)))]),
});

export const flag = (usage: string, meaning: string): Parameter<boolean> => ({
  usage,
  meaning,
  shown: `[${usage}]`,
  read: (given) => given.length > 0,
});

export type Parameters = Readonly<Record<string, Parameter>>;
type ValueOf<Each> = Each extends Parameter<infer Value> ? Value : never;
/** What the parameters become, each under its name in the table. What can be undefined need not be there. */
export type Given<Table extends Parameters> = {
  readonly [Name in keyof Table as undefined extends ValueOf<Table[Name]> ? never : Name]: ValueOf<Table[Name]>;
} & {
  readonly [Name in keyof Table as undefined extends ValueOf<Table[Name]> ? Name : never]?: ValueOf<Table[Name]>;
};

/** @throws UsageError for arguments that the table does not have, and for invalid ones. */
export function parse<Table extends Parameters>(table: Table, args: readonly string[]): Given<Table> {
  const parameters = Object.values(table);
  const options = parameters.flatMap(({ usage, shown }) => {
    const type = usage.includes(' ') ? ('string' as const) : ('boolean' as const);
    return isOption(usage) ? [[optionOf(usage), { type, multiple: shown.endsWith('...') }] as const] : [];
  });
  const { values, positionals }: { values: Readonly<Record<string, unknown>>; positionals: string[] } = strictly(
    () => parseArgs({ args: [...args], options: Object.fromEntries(options), allowPositionals: true, strict: true }),
    options.map(([name]) => name),
  );
  const unexpected = positionals[parameters.length - options.length];
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`);
  const read = ({ usage, read: readTexts }: Parameter) =>
    readTexts(isOption(usage) ? [values[optionOf(usage)] ?? []].flat().map(String) : positionals, nameOf(usage));
  // Each value is what its parameter reads.
  return Object.fromEntries(Object.entries(table).map(([name, each]) => [name, read(each)])) as Given<Table>;
}

const isOption = (usage: string) => usage.startsWith('--');
/** The name in messages: `--email`, and `FILE` of `FILE.ndjson`. */
const nameOf = (usage: string) => usage.split(/[ .]/)[0] ?? '';
const optionOf = (usage: string) => nameOf(usage).slice(2);

/** Reports invalid options with the first sentence of Node's message, and the known one that is nearest; the rest is advice about `--`. */
function strictly<Result>(run: () => Result, known: readonly string[]): Result {
  try {
    return run();
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).split('. ')[0] ?? '';
    const name = /^Unknown option '--([^']*)'/.exec(message)?.[1] ?? '';
    throw new UsageError(message + suggestion(name, known, (nearest) => `'--${nearest}'`), { cause: error });
  }
}
