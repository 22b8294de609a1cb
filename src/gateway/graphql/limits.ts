/**
 * Checks of the published limits of the GraphQL API, as pure functions.
 *
 * The order is the same for POST, GET, SSE and persisted documents: {@link parseWithinLimits} on the text, {@link
 * checkDocument} on the document, the validation of graphql-js, and `checkCost` of document-cost.ts on the operation with its
 * variables. The time of each check is linear in the size of the text.
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
import { LIMITS } from '../../core/graphql/document-limits.ts';

export type LimitCode =
  | 'QUERY_TOO_LARGE'
  | 'TOO_MANY_TOKENS'
  | 'TOO_DEEP'
  | 'TOO_MANY_ALIASES'
  | 'TOO_MANY_DIRECTIVES'
  | 'TOO_MANY_OPERATIONS'
  | 'TOO_MANY_COMPARISONS'
  | 'TOO_COSTLY';

/** The error for an exceeded limit: status 400, and `extensions` with the limit and, if known, the actual number. */
export function limitError(code: LimitCode, message: string, limit: number, actual?: number): GraphQLError {
  const found = actual === undefined ? {} : { actual };
  return new GraphQLError(message, { extensions: { code, limit, ...found, http: { status: 400 } } });
}

/**
 * Parses a query text of at most 64 KiB, 4000 tokens, 200 nested brackets, and 4000 comments.
 *
 * Errors: `QUERY_TOO_LARGE` before anything is read, `TOO_MANY_TOKENS` and `TOO_DEEP` before anything is parsed. Syntax
 * errors, and the error for too many comments, are those of graphql-js.
 */
export function parseWithinLimits(text: string): DocumentNode {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > LIMITS.queryBytes) {
    const advice = 'Pass values as variables, or split the query.';
    const message = `The query text has ${bytes} bytes; at most ${LIMITS.queryBytes} (64 KiB) are allowed. ${advice}`;
    throw limitError('QUERY_TOO_LARGE', message, LIMITS.queryBytes, bytes);
  }
  checkTokens(text);
  // Comments are stored with the document, so they must be bounded to bound its memory.
  return parse(text, { maxComments: LIMITS.tokens });
}

/** The document of a request: parsed, checked, and without repeated fields. Errors: those of the three. */
export function parseDocument(text: string): DocumentNode {
  const document = parseWithinLimits(text);
  checkDocument(document);
  return withoutRepeats(document);
}

/** Reads the tokens without parsing, because the parser is recursive: 1900 nested lists would overflow the stack. */
function checkTokens(text: string): void {
  const lexer = new Lexer(new Source(text));
  let open = 0;
  for (let count = 1; lexer.advance().kind !== TokenKind.EOF; count++) {
    if (count > LIMITS.tokens) {
      const advice = 'Select fewer fields, pass values as variables, or split the query.';
      const message = `The query has more than ${LIMITS.tokens} tokens; at most ${LIMITS.tokens} are allowed. ${advice}`;
      throw limitError('TOO_MANY_TOKENS', message, LIMITS.tokens);
    }
    open += BRACKETS.get(lexer.token.kind) ?? 0;
    if (open > LIMITS.nesting) {
      const advice = 'Pass nested values as variables.';
      const message = `The query has more than ${LIMITS.nesting} nested brackets; at most ${LIMITS.nesting} are allowed. ${advice}`;
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
 * Refuses a document with an operation that is deeper than 15 levels, or has more than 100 aliases or 50 directives.
 *
 * A repeated field with a selection counts as an alias: the validation of graphql-js compares all pairs with their
 * selections, so that 300 of them would take a tenth of a second.
 *
 * Fragments count wherever they are spread. Fields below `__schema` and `__type` are not counted here, because MaxIntrospectionDepthRule of
 * graphql-js checks them and allows the standard introspection query. The result depends only on the document, so it can be cached.
 *
 * Errors: `TOO_DEEP`, `TOO_MANY_ALIASES`, `TOO_MANY_DIRECTIVES`, and the validation error for circular fragments. It is
 * thrown here, because the graphql-js rule for overlapping fields can overflow the stack on them before the rule for
 * cycles runs.
 */
export function checkDocument(document: DocumentNode): void {
  const ofFragment: OfFragment<Shape> = perFragment(document, FLAT, (it) => shapeOf(it, ofFragment), refuseCycle);
  for (const definition of document.definitions) {
    // Unused fragments are checked too, because validation compares their fields before it refuses them.
    if (definition.kind === Kind.FRAGMENT_DEFINITION) checkAliases(ofFragment(definition.name.value));
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const shape = shapeOf(definition, ofFragment);
    const { depth, directives } = shape;
    if (depth > LIMITS.depth) {
      const found = `The query is ${depth} levels deep; at most ${LIMITS.depth} are allowed.`;
      const message = `${found} Query the deeper objects by their ids in another request.`;
      throw limitError('TOO_DEEP', message, LIMITS.depth, depth);
    }
    checkAliases(shape);
    if (directives > LIMITS.directives) {
      const found = `The query has ${directives} directives with expanded fragments; at most ${LIMITS.directives} are allowed.`;
      const message = `${found} Put one on an inline fragment around several fields, or split the query.`;
      throw limitError('TOO_MANY_DIRECTIVES', message, LIMITS.directives, directives);
    }
  }
}

function checkAliases({ aliases }: Shape): void {
  if (aliases <= LIMITS.aliases) return;
  const found = `The query has ${aliases} aliases and repeated fields with expanded fragments; at most ${LIMITS.aliases} are allowed.`;
  const message = `${found} Query a list, select each field once, or split the query.`;
  throw limitError('TOO_MANY_ALIASES', message, LIMITS.aliases, aliases);
}

function refuseCycle({ name }: FragmentDefinitionNode): never {
  const extensions = { code: 'GRAPHQL_VALIDATION_FAILED', http: { spec: true, status: 400 } };
  throw new GraphQLError(`Cannot spread fragment "${name.value}" within itself.`, { nodes: name, extensions });
}

interface Shape {
  readonly depth: number;
  /** Number of aliases and repeated fields. */
  readonly aliases: number;
  readonly directives: number;
  /** Response names of the fields with a selection at the top level, including those of fragments. */
  readonly names: ReadonlySet<string>;
}

const FLAT: Shape = { depth: 0, aliases: 0, directives: 0, names: new Set() };

interface Selecting {
  readonly selectionSet?: SelectionSetNode | undefined;
  readonly directives?: readonly DirectiveNode[] | undefined;
  readonly variableDefinitions?: readonly VariableDefinitionNode[] | undefined;
}

/** The shape relative to the node, so that the shape of a fragment is the same wherever it is spread. */
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

/** Adds names to the names of a level. @returns how many of them were already present. */
function joinNames(names: Set<string>, added: readonly string[]): number {
  const before = names.size;
  for (const name of added) names.add(name);
  return added.length - (names.size - before);
}

const isIntrospection = (field: FieldNode): boolean => field.name.value === '__schema' || field.name.value === '__type';

type OfFragment<T> = (name: string) => T;

/**
 * Calculates one value for each fragment when it is first spread, so that each fragment is visited only once. The value
 * of an unknown fragment is
 * `nothing`, and so is that of a fragment within itself unless `onCycle` throws.
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

/** Limits a number from the client to 0 … `Number.MAX_SAFE_INTEGER`, so that sums and products never become Infinity or NaN. */
export const bounded = (n: number): number => (n > 0 ? Math.min(n, Number.MAX_SAFE_INTEGER) : 0);

/** Documents with fewer tokens are not searched for repeated fields. */
const FEW_TOKENS = 500;

/**
 * Removes repeated plain fields from each selection. They mean the same field (GraphQL, section 5.3.2), but graphql-js
 * compares all pairs, so that some thousand of them would exceed its limit of comparisons.
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
 * Explains the errors of a validation that stops after `maxErrors`. An error of a rule has a location. An additional
 * error without a location means that graphql-js stopped comparing fields.
 */
export function explained(errors: readonly GraphQLError[], maxErrors: number): readonly GraphQLError[] {
  const last = errors.at(-1);
  if (last === undefined || last.nodes !== undefined || errors.length > maxErrors) return errors;
  const message = `Comparing the fields of the query takes more than ${LIMITS.comparisons} steps; at most ${LIMITS.comparisons} are allowed. Select each field once, or split the query.`;
  return [...errors.slice(0, -1), limitError('TOO_MANY_COMPARISONS', message, LIMITS.comparisons)];
}
