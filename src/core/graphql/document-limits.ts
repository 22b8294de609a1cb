/**
 * The published limits of GraphQL documents.
 *
 * `operations` is the maximum that one request executes: a JSON array of requests is refused. A document can contain
 * several operations, of which
 * `operationName` selects one, because GraphiQL sends the whole editor. `tokens` bounds their number.
 */
export const LIMITS = Object.freeze({
  /** Maximum size of the query text, in bytes of UTF-8. */
  queryBytes: 65_536,
  /** Lexical tokens. The same number of comments is allowed in addition. */
  tokens: 4000,
  /** Levels of fields: `{ a { b { c } } }` is 3. */
  depth: 15,
  /** Nesting of brackets in selections and values, far above what 15 levels of fields need. */
  nesting: 200,
  aliases: 100,
  directives: 50,
  operations: 1,
  /** Steps in which graphql-js compares fields that could overlap. It is a constant of graphql-js that it does not export. */
  comparisons: 500_000,
  /** Points that one operation costs. */
  cost: 20_000,
});
