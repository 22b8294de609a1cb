// What keeps one shard from answering a statement, found in its text: enough of the grammar for the statements of this project.

const COLUMN = 'organization_id';

type Kind = 'word' | 'quoted' | 'text' | 'mark';
interface Token {
  readonly kind: Kind;
  /** Words in lower case; names without quotes. */
  readonly text: string;
}

const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|e?'(?:[^']|'')*'|"((?:[^"]|"")*)"|([a-z_][\w$]*)|\$?\d[\w.]*|::|<=|>=|<>|!=|\|\||->>?|\S/gi;

function tokensOf(statement: string): Token[] {
  return [...statement.matchAll(TOKEN)].flatMap(([text, quoted, word]): Token[] => {
    if (text.startsWith('--') || text.startsWith('/*')) return [];
    if (quoted !== undefined) return [{ kind: 'quoted', text: quoted }];
    if (word !== undefined) return [{ kind: 'word', text: word.toLowerCase() }];
    return [{ kind: text.endsWith("'") ? 'text' : 'mark', text }];
  });
}

/** A query: the statement, or what is in brackets within one. */
interface Query {
  /** Its own tokens, with those of brackets that are no queries. */
  readonly own: Token[];
  /** Those of the queries in it, too. */
  readonly all: Token[];
  /** Whether its rows are compared with a tuple that has the column. */
  readonly isCompared: boolean;
}

const BEGINS: ReadonlySet<string> = new Set(['select', 'with', 'insert', 'update', 'delete']);

function queriesIn(tokens: readonly Token[]): Query[] {
  const whole: Query = { own: [], all: [], isCompared: false };
  const queries = [whole];
  /** The query of each open bracket. */
  const open: Query[] = [whole];
  for (const [index, token] of tokens.entries()) {
    const { text, kind } = token;
    if (kind === 'mark' && text === '(') {
      for (const query of new Set(open)) query.all.push(token);
      const next = tokens[index + 1];
      if (next?.kind === 'word' && BEGINS.has(next.text)) {
        const query: Query = { own: [], all: [], isCompared: isAfterTuple(tokens, index) };
        queries.push(query);
        open.push(query);
      } else {
        open.at(-1)?.own.push(token);
        open.push(open.at(-1) ?? whole);
      }
      continue;
    }
    if (kind === 'mark' && text === ')') {
      const closed = open.pop();
      if (closed === open.at(-1)) closed?.own.push(token);
      for (const query of new Set(open)) query.all.push(token);
      continue;
    }
    open.at(-1)?.own.push(token);
    for (const query of new Set(open)) query.all.push(token);
  }
  return queries;
}

/** Whether `(…, organization_id, …) in` stands before a bracket. */
function isAfterTuple(tokens: readonly Token[], index: number): boolean {
  if (tokens[index - 1]?.text !== 'in' || tokens[index - 2]?.text !== ')') return false;
  const open = tokens.findLastIndex(({ kind, text }, at) => at < index - 2 && kind === 'mark' && text === '(');
  return tokens.slice(open, index - 2).some(({ text }) => text === COLUMN);
}

const AFTER: ReadonlySet<string> = new Set(['from', 'join', 'update', 'into', 'using']);
const NO_ALIAS: ReadonlySet<string> = new Set(
  'set where on join inner left right full cross lateral using values select order group limit for returning default union offset having natural from'.split(
    ' ',
  ),
);

interface Use {
  readonly table: string;
  readonly alias: string;
  readonly isInserted: boolean;
}

const isName = (token: Token | undefined): token is Token => token?.kind === 'word' || token?.kind === 'quoted';

function usesIn(own: readonly Token[], tables: ReadonlySet<string>): Use[] {
  return own.flatMap((token, index): Use[] => {
    if (!isName(token) || !tables.has(token.text)) return [];
    const before = own[index - 1];
    const isFrom = before?.kind === 'word' && AFTER.has(before.text);
    const isListed = before?.text === ',' && isInFrom(own, index);
    if (!isFrom && !isListed) return [];
    let next = own[index + 1];
    if (next?.kind === 'word' && next.text === 'as') next = own[index + 2];
    const hasAlias = isName(next) && (next.kind === 'quoted' || !NO_ALIAS.has(next.text));
    return [
      { table: token.text, alias: hasAlias && next ? next.text : token.text, isInserted: before?.text === 'into' },
    ];
  });
}

function isInFrom(own: readonly Token[], index: number): boolean {
  for (let at = index - 1; at >= 0; at -= 1) {
    const { kind, text } = own[at] ?? { kind: 'mark', text: '' };
    if (kind === 'word' && (text === 'from' || text === 'using')) return true;
    if (kind === 'mark' && text === '(') return false;
    if (kind === 'word' && ['select', 'set', 'where', 'on', 'by', 'values', 'returning', 'into'].includes(text))
      return false;
  }
  return false;
}

/** Whether a query compares the column of a table: with `=`, `in`, or as part of a tuple. */
function compares(tokens: readonly Token[], alias: string | undefined): boolean {
  return tokens.some((token, index) => {
    if (!isName(token) || token.text !== COLUMN) return false;
    const isQualified = tokens[index - 1]?.text === '.';
    if (alias === undefined ? isQualified : !isQualified || tokens[index - 2]?.text !== alias) return false;
    const first = isQualified ? index - 2 : index;
    let after = index + 1;
    while (tokens[after]?.text === '::') after += 2;
    return (
      ['=', 'in', 'is'].includes(tokens[after]?.text ?? '') ||
      tokens[first - 1]?.text === '=' ||
      isInComparedTuple(tokens, first)
    );
  });
}

function isInComparedTuple(tokens: readonly Token[], index: number): boolean {
  let at = index;
  while ((at < tokens.length && [',', '.'].includes(tokens[at]?.text ?? '')) || isName(tokens[at])) at += 1;
  return tokens[at]?.text === ')' && ['in', '='].includes(tokens[at + 1]?.text ?? '');
}

function insertedColumns(own: readonly Token[]): string[] {
  const into = own.findIndex(({ kind, text }) => kind === 'word' && text === 'into');
  const open = own.findIndex(({ text }, index) => index > into && text === '(');
  const close = own.findIndex(({ text }, index) => index > open && text === ')');
  return own.slice(open, close).map(({ text }) => text);
}

/** The columns of `on conflict (…)`; undefined without one, and for a constraint that is named. */
function conflictTarget(own: readonly Token[]): string[] | undefined {
  const at = own.findIndex(({ text }, index) => text === 'conflict' && own[index - 1]?.text === 'on');
  if (at < 0 || own[at + 1]?.text !== '(') return undefined;
  const close = own.findIndex(({ text }, index) => index > at && text === ')');
  return own.slice(at + 2, close).map(({ text }) => text);
}

/** What is wrong with a statement, if it uses several of the tables, or writes to one. */
export function faultsOf(statement: string, tables: ReadonlySet<string>): string[] {
  const tokens = tokensOf(statement);
  if (!tokens.some((token) => isName(token) && tables.has(token.text))) return [];
  const queries = queriesIn(tokens).map((query) => ({ ...query, uses: usesIn(query.own, tables) }));
  const isJoint = queries.reduce((sum, { uses }) => sum + uses.length, 0) > 1;
  const faults = new Set<string>();
  for (const { own, all, uses, isCompared } of queries) {
    const target = conflictTarget(own);
    const inserted = uses.find(({ isInserted }) => isInserted);
    if (inserted && target && !target.includes(COLUMN)) faults.add(`${inserted.table}: on conflict without ${COLUMN}`);
    // Shards have rows of the same place.
    const isPlaced = uses.length > 0 && own.some(({ text }) => text === 'ctid');
    if (isPlaced && !compares(own, undefined)) faults.add(`${uses[0]?.table}: ctid without ${COLUMN}`);
    if (!isJoint) continue;
    for (const { table, alias, isInserted } of uses) {
      const has = isInserted
        ? insertedColumns(own).includes(COLUMN)
        : isCompared || compares(all, alias) || (uses.length === 1 && compares(own, undefined));
      if (!has) faults.add(`${table}: without ${COLUMN}`);
    }
  }
  return [...faults];
}

const VALUE = String.raw`\$\d+(?:::\w+(?:\[\])?)?`;
const OPTIONAL = [
  String.raw`[<>=]\s*coalesce\(\s*${VALUE}`,
  String.raw`${VALUE} is (?:not )?null\s+(?:or|and)\b`,
  String.raw`\b(?:or|and) ${VALUE} is (?:not )?null`,
  String.raw`case when ${VALUE} is (?:not )?null`,
].map((pattern) => new RegExp(pattern, 'gi'));

/** Conditions that hold when their value is null. The plan of a prepared statement for all values cannot leave them out: a shape without them can. */
export function optionalConditionsOf(statement: string): string[] {
  return OPTIONAL.flatMap((pattern) => statement.match(pattern) ?? []).map((found) => `optional condition: ${found}`);
}
