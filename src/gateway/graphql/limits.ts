/**
 * The published limits of the GraphQL API, as pure functions.
 *
 * The API calls them in this order, the same over POST, GET, SSE and persisted documents: {@link parseWithinLimits} on the
 * text, {@link checkDocument} on the document, graphql's own validation, and `checkCost` of graphql-cost.ts on the operation
 * with its variables, before the first resolver. Each of ours is linear in the size of the text, whatever the text says.
 */
import { GraphQLError, Kind, Lexer, parse, Source, TokenKind, visit } from 'graphql';
import type {
  DirectiveNode,
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  SelectionNode,
  SelectionSetNode,
  VariableDefinitionNode,
} from 'graphql';
import { MAX_OPERATION_COST } from '../bounds.ts';

/**
 * The numbers as they are published.
 *
 * `operations` counts what one request runs: a JSON array of requests is refused before. A document may hold several
 * operations, since `operationName` exists to pick one of them and GraphiQL sends its whole editor; the others are not run,
 * and `tokens` bounds how many there can be.
 */
export const LIMITS = Object.freeze({
  /** Bytes of the query text in UTF-8. */
  queryBytes: 65_536,
  /** Lexical tokens; as many comments are allowed besides. */
  tokens: 4000,
  /** Levels of fields: `{ a { b { c } } }` is 3. */
  depth: 15,
  /** Brackets open at once, in selections and values: far above what 15 levels of fields need. */
  nesting: 200,
  aliases: 100,
  directives: 50,
  operations: 1,
  /** Steps in which graphql compares fields that could overlap: its own number, which it does not tell. */
  comparisons: 500_000,
  cost: MAX_OPERATION_COST,
});

export type LimitCode =
  | 'QUERY_TOO_LARGE'
  | 'TOO_MANY_TOKENS'
  | 'TOO_DEEP'
  | 'TOO_MANY_ALIASES'
  | 'TOO_MANY_DIRECTIVES'
  | 'TOO_MANY_OPERATIONS'
  | 'TOO_MANY_COMPARISONS'
  | 'TOO_COSTLY';

/** The error of a broken limit: status 400, `extensions` with the limit, and what was found where that is known. */
export function limitError(code: LimitCode, message: string, limit: number, actual?: number): GraphQLError {
  const found = actual === undefined ? {} : { actual };
  return new GraphQLError(message, { extensions: { code, limit, ...found, http: { status: 400 } } });
}

/**
 * Parses a query text of at most 64 KiB, 4000 tokens, 200 brackets open at once, and 4000 comments.
 *
 * Errors: `QUERY_TOO_LARGE` before anything is read, `TOO_MANY_TOKENS` and `TOO_DEEP` before anything is parsed; a syntax
 * error stays graphql's own, and so does the one for too many comments.
 */
export function parseWithinLimits(text: string): DocumentNode {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > LIMITS.queryBytes) {
    const advice = 'Pass values as variables, or split the query.';
    const message = `The query text has ${bytes} bytes; at most ${LIMITS.queryBytes} (64 KiB) are allowed. ${advice}`;
    throw limitError('QUERY_TOO_LARGE', message, LIMITS.queryBytes, bytes);
  }
  checkTokens(text);
  // Comments are kept with the document: without a bound they are most of its memory.
  return parse(text, { maxComments: LIMITS.tokens });
}

/** Reads the tokens by themselves, because the parser recurses: 1900 nested lists, within 4000 tokens, overflow its stack. */
function checkTokens(text: string): void {
  const lexer = new Lexer(new Source(text));
  let open = 0;
  for (let count = 1; lexer.advance().kind !== TokenKind.EOF; count++) {
    if (count > LIMITS.tokens) {
      const advice = 'Select fewer fields, pass values as variables, or split the query.';
      const message = `The query has more than the ${LIMITS.tokens} tokens that are allowed. ${advice}`;
      throw limitError('TOO_MANY_TOKENS', message, LIMITS.tokens);
    }
    open += BRACKETS.get(lexer.token.kind) ?? 0;
    if (open > LIMITS.nesting) {
      const advice = 'Pass nested values as variables.';
      const message = `The query has more than the ${LIMITS.nesting} brackets open at once that are allowed. ${advice}`;
      throw limitError('TOO_DEEP', message, LIMITS.nesting);
    }
  }
}

const BRACKETS: ReadonlyMap<string, number> = new Map([
  [TokenKind.BRACE_L, 1],
  [TokenKind.BRACKET_L, 1],
  [TokenKind.PAREN_L, 1],
  [TokenKind.BRACE_R, -1],
  [TokenKind.BRACKET_R, -1],
  [TokenKind.PAREN_R, -1],
]);

/**
 * Refuses a document of which an operation is deeper than 15, or has more than 100 aliases or 50 directives.
 *
 * A field with a selection that is selected again under one response name counts as an alias: graphql's validation compares
 * each with each, selections and all, so that 300 of them within the token limit would cost it a tenth of a second.
 *
 * Fragments count as expanded wherever they are spread, so that they hide nothing. Fields below `__schema` and `__type`
 * have no depth here: graphql's MaxIntrospectionDepthRule judges them, and the standard introspection query passes.
 * Depends on the document alone, so its result may be cached with the document.
 *
 * Errors: `TOO_DEEP`, `TOO_MANY_ALIASES`, `TOO_MANY_DIRECTIVES`; for circular fragments what validation says of them,
 * said here because graphql's rule for overlapping fields can overflow the stack on them before the rule for cycles is heard.
 */
export function checkDocument(document: DocumentNode): void {
  const ofFragment: OfFragment<Shape> = perFragment(document, FLAT, (it) => shapeOf(it, ofFragment), refuseCycle);
  for (const definition of document.definitions) {
    // Unused fragments may be circular too, and validation compares their fields before it refuses them.
    if (definition.kind === Kind.FRAGMENT_DEFINITION) checkAliases(ofFragment(definition.name.value));
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const shape = shapeOf(definition, ofFragment);
    const { depth, directives } = shape;
    if (depth > LIMITS.depth) {
      const found = `The query is ${depth} levels deep; at most ${LIMITS.depth} are allowed.`;
      const message = `${found} Ask for the deeper objects by their ids in another query.`;
      throw limitError('TOO_DEEP', message, LIMITS.depth, depth);
    }
    checkAliases(shape);
    if (directives > LIMITS.directives) {
      const found = `The query has ${directives} directives, fragments expanded; at most ${LIMITS.directives} are allowed.`;
      const message = `${found} Put one on an inline fragment around several fields, or split the query.`;
      throw limitError('TOO_MANY_DIRECTIVES', message, LIMITS.directives, directives);
    }
  }
}

function checkAliases({ aliases }: Shape): void {
  if (aliases <= LIMITS.aliases) return;
  const found = `The query has ${aliases} aliases and repeated fields, fragments expanded; at most ${LIMITS.aliases} are allowed.`;
  const message = `${found} Ask for a list, select each field once, or split the query.`;
  throw limitError('TOO_MANY_ALIASES', message, LIMITS.aliases, aliases);
}

function refuseCycle({ name }: FragmentDefinitionNode): never {
  const extensions = { code: 'GRAPHQL_VALIDATION_FAILED', http: { spec: true, status: 400 } };
  throw new GraphQLError(`Cannot spread fragment "${name.value}" within itself.`, { nodes: name, extensions });
}

interface Shape {
  readonly depth: number;
  /** With the fields that are repeated. */
  readonly aliases: number;
  readonly directives: number;
  /** Response names of the fields with a selection on the topmost level, where those of fragments join those beside them. */
  readonly names: ReadonlySet<string>;
}

const FLAT: Shape = { depth: 0, aliases: 0, directives: 0, names: new Set() };

interface Selecting {
  readonly selectionSet?: SelectionSetNode | undefined;
  readonly directives?: readonly DirectiveNode[] | undefined;
  readonly variableDefinitions?: readonly VariableDefinitionNode[] | undefined;
}

/** Relative to the node, so that a fragment's shape holds however deep it is spread. */
function shapeOf(node: Selecting, ofFragment: OfFragment<Shape>): Shape {
  let { depth, aliases, directives } = FLAT;
  const names = new Set<string>();
  for (const { directives: own } of [node, ...(node.variableDefinitions ?? [])]) directives += own?.length ?? 0;
  for (const selection of node.selectionSet?.selections ?? []) {
    const inner = shapeOf(selection, ofFragment);
    const spread = selection.kind === Kind.FRAGMENT_SPREAD ? ofFragment(selection.name.value) : FLAT;
    const isField = selection.kind === Kind.FIELD;
    const below = isField && isIntrospection(selection) ? 0 : Math.max(inner.depth, spread.depth);
    depth = Math.max(depth, below + (isField ? 1 : 0));
    const repeated = joinNames(names, isField ? namesOf(selection) : [...inner.names, ...spread.names]);
    aliases = bounded(aliases + inner.aliases + spread.aliases + (isField && selection.alias ? 1 : 0) + repeated);
    directives = bounded(directives + inner.directives + spread.directives);
  }
  return { depth, aliases, directives, names };
}

const namesOf = ({ alias, name, selectionSet }: FieldNode): string[] => (selectionSet ? [(alias ?? name).value] : []);

/** Adds names to those of a level, and answers how many were there already. */
function joinNames(names: Set<string>, added: readonly string[]): number {
  const before = names.size;
  for (const name of added) names.add(name);
  return added.length - (names.size - before);
}

const isIntrospection = (field: FieldNode): boolean => field.name.value === '__schema' || field.name.value === '__type';

type OfFragment<T> = (name: string) => T;

/**
 * One value for each fragment, worked out when it is first spread, so that a document is walked once however often its
 * fragments are spread. An unknown fragment is worth `nothing`, and so is one within itself, unless `onCycle` throws.
 */
export function perFragment<T>(
  document: DocumentNode,
  nothing: T,
  measure: (fragment: FragmentDefinitionNode) => T,
  onCycle: (fragment: FragmentDefinitionNode) => T = () => nothing,
): OfFragment<T> {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measured = new Map<string, T | typeof UNDER_WAY>();
  return (name) => {
    const fragment = fragments.get(name);
    if (!fragment) return nothing;
    const known = measured.get(name);
    if (known === UNDER_WAY) return onCycle(fragment);
    if (known !== undefined) return known;
    measured.set(name, UNDER_WAY);
    const value = measure(fragment);
    measured.set(name, value);
    return value;
  };
}

const UNDER_WAY = Symbol('under way');

/** Keeps sums and products of hostile numbers countable: no Infinity, no NaN, nothing below 0. */
export const bounded = (n: number): number => (n > 0 ? Math.min(n, Number.MAX_SAFE_INTEGER) : 0);

/** Above this many tokens it pays to look for what is selected again and again. */
const FEW_TOKENS = 500;

/**
 * The document with each plain field once in a selection. Fields of one name are one field (GraphQL, section 5.3.2), and graphql compares
 * each with each, so that some thousand of them, within all limits, would use up what it spends on comparing.
 */
export function withoutRepeats(document: DocumentNode): DocumentNode {
  if ((document.tokenCount ?? Infinity) <= FEW_TOKENS) return document;
  return visit(document, {
    SelectionSet({ selections, ...set }) {
      const seen = new Set<string>();
      const isNew = (selection: SelectionNode) => {
        if (selection.kind !== Kind.FIELD || selection.selectionSet || selection.alias) return true;
        if (selection.arguments?.length || selection.directives?.length) return true;
        return !seen.has(selection.name.value) && Boolean(seen.add(selection.name.value));
      };
      return { ...set, selections: selections.filter(isNew) };
    },
  });
}

/**
 * The errors of a validation that ends after `maxErrors`. An error of a rule says where in the document it is; one more without a place means
 * that graphql has stopped comparing fields.
 */
export function explained(errors: readonly GraphQLError[], maxErrors: number): readonly GraphQLError[] {
  const last = errors.at(-1);
  if (last === undefined || last.nodes !== undefined || errors.length > maxErrors) return errors;
  const message = `Comparing the query's fields takes more than the ${LIMITS.comparisons} steps that are allowed. Select each field once, or split the query.`;
  return [...errors.slice(0, -1), limitError('TOO_MANY_COMPARISONS', message, LIMITS.comparisons)];
}
