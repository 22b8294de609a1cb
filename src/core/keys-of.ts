/** The keys of a constant table, which has no others than its type states. */
export const keysOf = <Table extends object>(table: Table): (keyof Table & string)[] =>
  Object.keys(table) as (keyof Table & string)[];

/** The names of the fields that are given, which in an update are those that change. */
export const givenNames = (changes: object): string[] =>
  Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]));

/** What remains after all fields of an input were taken: `others satisfies NoFields` does not compile when one was forgotten. */
export type NoFields = Readonly<Record<string, never>>;

/** For a value that is spread into a document: `value satisfies OnlyFieldsOf<Document, typeof value>` does not compile when it has others. */
export type OnlyFieldsOf<Document, Value> = {
  readonly [Key in keyof Value]: Key extends keyof Document ? unknown : never;
};
