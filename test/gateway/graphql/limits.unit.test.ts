import { getIntrospectionQuery, parse, validate, visit } from 'graphql';
import type { DocumentNode } from 'graphql';
import { describe, expect, test } from 'vitest';
import { checkCost } from '../../../src/gateway/graphql/document-cost.ts';
import { LIMITS } from '../../../src/core/graphql/document-limits.ts';
import { checkDocument, parseWithinLimits } from '../../../src/gateway/graphql/limits.ts';
import { refusal, repeat, schema } from '../../support/fixtures/graphql-limits.ts';

const nested = (levels: number, inner = 'id', field = 'friend'): string =>
  `${`${field}{`.repeat(levels)}${inner}${'}'.repeat(levels)}`;
const judged = (text: string): unknown => refusal(() => checkDocument(parseWithinLimits(text)));

describe('the text', () => {
  test('65536 bytes of UTF-8 are accepted and one more is refused before parsing', () => {
    const text = (bytes: number) => `{a} #${'é'.repeat((bytes - 6) / 2)}${'x'.repeat(bytes % 2)}`;
    expect(Buffer.byteLength(text(65_536) + 'x')).toBe(65_536);
    expect(refusal(() => parseWithinLimits(text(65_536) + 'x'))).toBeUndefined();
    expect(refusal(() => parseWithinLimits(text(65_536) + 'x}'))).toEqual({
      message:
        'The query text has 65537 bytes; at most 65536 (64 KiB) are allowed. Pass values as variables, or split the query.',
      extensions: { code: 'QUERY_TOO_LARGE', limit: 65_536, actual: 65_537, http: { status: 400 } },
    });
  });

  test('4000 tokens are accepted and one more is refused', () => {
    expect(parseWithinLimits(`{${'a '.repeat(3998)}}`).tokenCount).toBe(4000);
    expect(refusal(() => parseWithinLimits(`{${'a '.repeat(3999)}}`))).toEqual({
      message:
        'The query has more than 4000 tokens; at most 4000 are allowed. Select fewer fields, pass values as variables, or split the query.',
      extensions: { code: 'TOO_MANY_TOKENS', limit: 4000, http: { status: 400 } },
    });
    expect(refusal(() => parseWithinLimits(`{a}${'#\n'.repeat(4000)}`))).toBeUndefined();
    expect(refusal(() => parseWithinLimits(`{a}${'#\n'.repeat(4001)}`))).toMatchObject({
      message: 'Syntax Error: Document contains more than 4000 comments. Parsing aborted.',
    });
  });

  test('200 nested brackets of any kind are accepted and one more is refused', () => {
    const tooDeep = {
      message: 'The query has more than 200 nested brackets; at most 200 are allowed. Pass nested values as variables.',
      extensions: { code: 'TOO_DEEP', limit: 200, http: { status: 400 } },
    };
    // Two brackets belong to the field, the others to the value.
    const text = (lists: number) =>
      `{a(b:${'[{c:'.repeat(98)}${'['.repeat(lists)}${']'.repeat(lists)}${'}]'.repeat(98)})}`;
    expect(refusal(() => parseWithinLimits(text(2)))).toBeUndefined();
    expect(refusal(() => parseWithinLimits(text(3)))).toEqual(tooDeep);
    expect(refusal(() => parseWithinLimits(`{a(b:"${'[{('.repeat(300)}") #${'['.repeat(300)}\n}`))).toBeUndefined();
    expect(refusal(() => parseWithinLimits(`{${'a(b:[1]){c} '.repeat(250)}}`))).toBeUndefined();
  });

  test('a syntax error is the error of graphql', () => {
    for (const text of ['{', '', '{a(b:"\ud800")}']) {
      const expected = refusal(() => parse(text));
      expect(expected).toHaveProperty('locations');
      expect(refusal(() => parseWithinLimits(text))).toEqual(expected);
    }
  });
});

describe('the document', () => {
  test('15 levels of fields are accepted and 16 are refused; inline fragments add no level, and fragments count where they are spread', () => {
    const tooDeep = {
      message:
        'The query is 16 levels deep; at most 15 are allowed. Query the deeper objects by their ids in another request.',
      extensions: { code: 'TOO_DEEP', limit: 15, actual: 16, http: { status: 400 } },
    };
    const half = `fragment Half on User { ${nested(6)} }`;
    expect(judged(`{ viewer { ${nested(13)} } }`)).toBeUndefined();
    expect(judged(`{ viewer { ${nested(14)} } }`)).toEqual(tooDeep);
    expect(judged(`{ viewer { ... { ... on User { ${nested(13)} } } } }`)).toBeUndefined();
    expect(judged(`{ viewer { ...Half ${nested(7, '...Half')} } } ${half}`)).toBeUndefined();
    expect(judged(`{ viewer { ...Half ${nested(8, '...Half')} } } ${half}`)).toEqual(tooDeep);
  });

  test('100 aliases are accepted and 101 are refused, also when fragments multiply them', () => {
    const tooMany = (actual: number) => ({
      message: `The query has ${actual} aliases and repeated fields with expanded fragments; at most 100 are allowed. Query a list, select each field once, or split the query.`,
      extensions: { code: 'TOO_MANY_ALIASES', limit: 100, actual, http: { status: 400 } },
    });
    const ten = `fragment Ten on User { ${repeat(10, (i) => `a${i}: id`)} }`;
    expect(judged(`{${repeat(100, (i) => `a${i}: __typename`)}}`)).toBeUndefined();
    expect(judged(`{${repeat(101, (i) => `a${i}: __typename`)}}`)).toEqual(tooMany(101));
    expect(judged(`{ viewer { ${repeat(10, () => '...Ten')} } } ${ten}`)).toBeUndefined();
    expect(judged(`{ viewer { ${repeat(11, () => '...Ten')} } } ${ten}`)).toEqual(tooMany(110));
  });

  test('a repeated field with a selection counts as an alias, wherever the repetition is', () => {
    const tooMany = { extensions: { code: 'TOO_MANY_ALIASES', limit: 100, actual: 101 } };
    const fields = (count: number) => repeat(count, () => 'friend{id}');
    const inFragments = (count: number) =>
      `{ viewer { ${fields(30)} ... { ${fields(30)} } ...F } } fragment F on User { ${fields(count - 60)} }`;
    expect(judged(`{ viewer { ${fields(101)} } }`)).toBeUndefined();
    expect(judged(`{ viewer { ${fields(102)} } }`)).toMatchObject(tooMany);
    expect(judged(inFragments(101))).toBeUndefined();
    expect(judged(inFragments(102))).toMatchObject(tooMany);
    // The same field in several objects is not a repetition. A field with another response name is already counted as an alias.
    expect(
      judged(`{ viewer { ${nested(12, 'friend{id}')} ${repeat(50, (i) => `a${i}: friend{id}`)} } }`),
    ).toBeUndefined();
    expect(judged(`{ viewer { ${repeat(51, () => 'a: friend{id}')} ${fields(1)} } }`)).toMatchObject(tooMany);
  });

  test('50 directives are accepted and 51 are refused, wherever they are', () => {
    const tooMany = {
      message:
        'The query has 51 directives with expanded fragments; at most 50 are allowed. Put one on an inline fragment around several fields, or split the query.',
      extensions: { code: 'TOO_MANY_DIRECTIVES', limit: 50, actual: 51, http: { status: 400 } },
    };
    const text = (count: number) =>
      `query ($v: Int @d) @d { viewer @d { ...F @d ...F @d ... @d { ${'id @d '.repeat(count - 10)} } } } fragment F on User @d { id @d }`;
    expect(judged(text(50))).toBeUndefined();
    expect(judged(text(51))).toEqual(tooMany);
  });

  test('a document can have several operations, each with its own limits', () => {
    const sixty = (name: string) => `query ${name} {${repeat(60, (i) => `a${i}: __typename`)}}`;
    expect(judged(`${sixty('A')} ${sixty('B')}`)).toBeUndefined();
    expect(judged(`query A { __typename } query B { viewer { ${nested(14)} } }`)).toHaveProperty(
      'extensions.code',
      'TOO_DEEP',
    );
  });

  test('circular fragments are refused with the error of validation, also if they are not used', () => {
    const circular = (name: string, column: number) => ({
      message: `Cannot spread fragment "${name}" within itself.`,
      locations: [{ line: 1, column }],
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { spec: true, status: 400 } },
    });
    expect(judged('{...A} fragment A on Query{...A}')).toEqual(circular('A', 17));
    expect(judged('{id} fragment B on Query{...C} fragment C on Query{...B}')).toEqual(circular('B', 15));
    // Two rings of coprime length overflow graphql's own stack, so they must never reach it.
    const ring = (name: string, length: number) =>
      repeat(length, (i) => `fragment ${name}${i} on User {...${name}${(i + 1) % length} friend {...${name}0}}`);
    const rings = `{ viewer { ...A0 ...B0 } } ${ring('A', 120)} ${ring('B', 121)}`;
    expect(() => validate(schema, parseWithinLimits(rings))).toThrow(RangeError);
    expect(judged(rings)).toMatchObject({ message: 'Cannot spread fragment "A0" within itself.' });
  });
});

describe('introspection', () => {
  test('costs points: seven standard queries in one request are accepted, eight are not', () => {
    const standard = getIntrospectionQuery();
    const selection = standard.slice(standard.indexOf('__schema'), standard.indexOf('fragment')).replace(/\}\s*$/, '');
    const times = (count: number) =>
      `{ ${repeat(count, (i) => `a${i}: ${selection}`)} } ${standard.slice(standard.indexOf('fragment'))}`;
    const check = (text: string) => codeOf(() => checkCost({ schema, document: parseWithinLimits(text) }));
    expect([check(times(7)), check(times(8))]).toEqual([undefined, 'TOO_COSTLY']);
  });

  const all = {
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    experimentalDirectiveDeprecation: true,
    oneOf: true,
  };
  const graphiql = { inputValueDeprecation: true, schemaDescription: true };

  test.each([{}, all, graphiql])('the standard query is valid and within every limit with %j', (options) => {
    const document = parseWithinLimits(getIntrospectionQuery(options));
    checkDocument(document);
    expect(validate(schema, document)).toEqual([]);
    expect(checkCost({ schema, document })).toBeLessThan(LIMITS.cost / 5);
  });

  test('is limited like other fields, except that graphql limits its depth', () => {
    const deep = `{ __schema { types { fields { type { ${'fields { type {'.repeat(8)} name ${'} }'.repeat(8)} } } } } }`;
    expect(judged(deep)).toBeUndefined();
    expect(validate(schema, parse(deep)).map((error) => error.message)).toEqual([
      'Maximum introspection depth exceeded',
    ]);
    expect(judged(`{ __schema { ${repeat(101, (i) => `a${i}: __typename`)} } }`)).toHaveProperty(
      'extensions.actual',
      101,
    );
    expect(judged(`{ __schema: viewer { ${nested(14)} } }`)).toHaveProperty('extensions.code', 'TOO_DEEP');
  });
});

/** Counts how often the selection sets of a document are read during a check. */
function readsWhile(document: DocumentNode, judge: () => unknown): { reads: number; sets: number; verdict: unknown } {
  let reads = 0;
  let sets = 0;
  visit(document, {
    SelectionSet(set) {
      const { selections } = set;
      sets++;
      Object.defineProperty(set, 'selections', { get: () => (reads++, selections) });
    },
  });
  reads = 0;
  return { verdict: codeOf(judge), reads, sets };
}

/** The verdict of both checks, and whether graphql's validation terminates for a document that passes the first one. */
function judgementOf(document: DocumentNode): { verdict: unknown; readsTwice: boolean; isAnswered: boolean } {
  const checked = readsWhile(document, () => checkDocument(document));
  const costed = readsWhile(document, () => checkCost({ schema, document }));
  return {
    verdict: checked.verdict ?? costed.verdict,
    readsTwice: checked.reads > checked.sets || costed.reads > costed.sets,
    isAnswered: checked.verdict !== undefined || Array.isArray(validate(schema, document)),
  };
}
const codeOf = (run: () => unknown): unknown => Object(refusal(run)).extensions?.code;

describe('attacks get the right verdict, and each selection set is read at most once', () => {
  const fanOut = (leaf: string) =>
    `{...F0} ${repeat(300, (i) => `fragment F${i} on Query{...F${i + 1} ...F${i + 1}}`)} fragment F300 on Query{${leaf}}`;
  const dense = (i: number) => `fragment F${i} on Query{${repeat(58 - i, (j) => `...F${i + j + 1}`)}}`;
  const rung = (i: number) => `fragment F${i} on User{friend{...F${i + 1} ...F${i + 1}} friend{...F${i + 1}}}`;
  const chain = (name: string) =>
    `${repeat(3, (i) => `fragment ${name}${i} on __Type{${nested(190, `...${name}${i + 1}`, 'ofType')}}`)} fragment ${name}3 on __Type{name}`;
  const inline = (outer: number, inner: number) =>
    `{viewer{${repeat(outer, () => `...on User{${repeat(inner, () => '...{id}')}}`)}}}`;

  test.each<[name: string, verdict: string | undefined, text: string]>([
    ['fan-out of 2^300 objects', 'TOO_MANY_ALIASES', fanOut('viewer{id}')],
    ['fan-out of 2^300 scalars', undefined, fanOut('__typename')],
    ['fan-out of 2^300 aliases', 'TOO_MANY_ALIASES', fanOut('a:__typename')],
    ['fan-out of 2^300 directives', 'TOO_MANY_DIRECTIVES', fanOut('__typename @x')],
    ['each fragment spreads all later ones', undefined, `{...F0} ${repeat(58, dense)} fragment F58 on Query{id}`],
    ['a ladder of fragments', 'TOO_DEEP', `{viewer{...F0}} ${repeat(150, rung)} fragment F150 on User{id}`],
    ['overlapping fields', 'TOO_MANY_ALIASES', `{${repeat(280, () => 'viewer{friend{friend{friend{id}}}}')}}`],
    ['overlapping fields in inline fragments', 'TOO_MANY_ALIASES', `{${repeat(280, () => '...{viewer{id}}')}}`],
    [
      'overlapping fields in fragments',
      'TOO_MANY_ALIASES',
      `{${repeat(250, (i) => `...F${i}`)}} ${repeat(250, (i) => `fragment F${i} on Query{viewer{id}}`)}`,
    ],
    [
      'overlapping fields in an unused fragment',
      'TOO_MANY_ALIASES',
      `{id} fragment F on Query{${repeat(280, () => 'viewer{id}')}}`,
    ],
    ['overlapping scalars', undefined, `{viewer{${'name '.repeat(3900)}}}`],
    ['inline fragments 30 x 30', undefined, inline(30, 30)],
    ['inline fragments 40 x 100', 'TOO_MANY_TOKENS', inline(40, 100)],
    ['inline fragments 200 x 100', 'QUERY_TOO_LARGE', inline(200, 100)],
    ['inline fragments within each other', 'TOO_DEEP', `{viewer{${'...{'.repeat(1300)}id${'}'.repeat(1300)}}}`],
    ['aliases to the token limit', 'TOO_MANY_ALIASES', `{${repeat(1300, (i) => `a${i}:__typename`)}}`],
    ['10000 aliases', 'QUERY_TOO_LARGE', `{${repeat(10_000, (i) => `a${i}:__typename`)}}`],
    ['5000 unused fragments', 'QUERY_TOO_LARGE', `{id} ${repeat(5000, (i) => `fragment F${i} on User{id}`)}`],
    ['500 unused fragments', undefined, `{__typename} ${repeat(500, (i) => `fragment F${i} on User{id}`)}`],
    ['5000 operations', 'TOO_MANY_TOKENS', repeat(5000, () => '{a}')],
    ['800 operations', undefined, repeat(800, (i) => `query Q${i}{id}`)],
    ['fields within each other', 'TOO_DEEP', `{viewer{${nested(1300)}}}`],
    ['100000 levels', 'QUERY_TOO_LARGE', '{a'.repeat(100_000)],
    ['deep introspection', 'TOO_DEEP', `{__schema{types{fields{type{${nested(1300, 'id', 'ofType')}}}}}}`],
    [
      'deep introspection in two chains of fragments',
      undefined,
      `{__type(name:"A"){...A0 ...B0}} ${chain('A')} ${chain('B')}`,
    ],
    ['1000 introspections', 'TOO_MANY_ALIASES', `{${repeat(999, (i) => `a${i}:__schema{id}`)}}`.replaceAll('{id}', '')],
    ['list literals within each other', 'TOO_DEEP', `{node(id:${'['.repeat(1900)}${']'.repeat(1900)}){id}}`],
    ['a fragment named __schema', 'TOO_DEEP', `{viewer{...__schema}} fragment __schema on User{${nested(14)}}`],
    ['a fragment named __proto__', 'TOO_DEEP', `{viewer{...__proto__}} fragment __proto__ on User{${nested(14)}}`],
    ['repeated directives', 'TOO_MANY_DIRECTIVES', `{__typename ${'@skip '.repeat(1900)}}`],
    ['distinct directives', 'TOO_MANY_DIRECTIVES', `{__typename ${repeat(1900, (i) => `@d${i}`)}}`],
    ['unknown fields', undefined, `{${repeat(3900, (i) => `u${i}`)}}`],
    ['list amplification', 'TOO_COSTLY', '{sessions(first:100){nodes{events(first:1000){nodes{id}}}}}'],
  ])('%s: %s', (_, expected, text) => {
    const parsed = codeOf(() => parseWithinLimits(text));
    const judgement =
      parsed === undefined
        ? judgementOf(parseWithinLimits(text))
        : { verdict: parsed, readsTwice: false, isAnswered: true };
    expect(judgement).toEqual({ verdict: expected, readsTwice: false, isAnswered: true });
  });
});
