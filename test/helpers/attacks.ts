// Requests that mean harm, each with what it must be told: a code of a refusal, or `answered` where it is within the limits and must only be cheap.
import { getIntrospectionQuery } from 'graphql';
import { repeat } from './graphql-limits.ts';

export interface Attack {
  readonly name: string;
  readonly verdict: string;
  readonly query: string;
  /** JSON, which may be deeper than `JSON.stringify` goes. */
  readonly variables?: string;
}

const INVALID = 'GRAPHQL_VALIDATION_FAILED';
const nested = (levels: number, field: string, inner: string) =>
  `{${`${field}{`.repeat(levels)}${inner}${'}'.repeat(levels)}}`;
const fanOut = (leaf: string) =>
  `{...F0} ${repeat(200, (i) => `fragment F${i} on Query{...F${i + 1} ...F${i + 1}}`)} fragment F200 on Query{${leaf}}`;
const ring = (name: string, length: number) =>
  repeat(length, (i) => `fragment ${name}${i} on Viewer{...${name}${(i + 1) % length} user{...${name}0}}`);
const introspection = getIntrospectionQuery();
const standard = introspection
  .slice(introspection.indexOf('__schema'), introspection.indexOf('fragment'))
  .replace(/\}\s*$/, '');

/** GraphQL documents, most of them within the bound of the text, where only what they ask for is too much. */
export const attacks: readonly Attack[] = [
  { name: 'depth 50', verdict: 'TOO_DEEP', query: nested(50, 'viewer', 'role') },
  { name: 'depth 10,000', verdict: 'TOO_DEEP', query: nested(9_000, 'a', 'b') },
  { name: 'depth 100,000', verdict: 'QUERY_TOO_LARGE', query: nested(100_000, 'a', 'b') },
  {
    name: 'a list literal 1,900 deep',
    verdict: 'TOO_DEEP',
    query: `{node(id:${'['.repeat(1_900)}${']'.repeat(1_900)}){id}}`,
  },
  {
    name: 'a list literal 20,000 deep',
    verdict: 'TOO_DEEP',
    query: `{node(id:${'['.repeat(20_000)}${']'.repeat(20_000)}){id}}`,
  },
  {
    name: 'a list of 1,000,000 leaves',
    verdict: 'QUERY_TOO_LARGE',
    query: `{nodes(ids:[${'1 '.repeat(1_000_000)}]){id}}`,
  },
  { name: '101 aliases', verdict: 'TOO_MANY_ALIASES', query: `{${repeat(101, (i) => `a${i}:__typename`)}}` },
  { name: '1,300 aliases', verdict: 'TOO_MANY_ALIASES', query: `{${repeat(1_300, (i) => `a${i}:__typename`)}}` },
  { name: '10,000 aliases', verdict: 'QUERY_TOO_LARGE', query: `{${repeat(10_000, (i) => `a${i}:__typename`)}}` },
  { name: '100,000 times one field', verdict: 'QUERY_TOO_LARGE', query: `{${'__typename '.repeat(100_000)}}` },
  { name: '3,900 times one field', verdict: 'answered', query: `{${'__typename '.repeat(3_900)}}` },
  {
    name: '1,900 times one directive',
    verdict: 'TOO_MANY_DIRECTIVES',
    query: `{__typename ${'@skip '.repeat(1_900)}}`,
  },
  { name: '1,500 directives', verdict: 'TOO_MANY_DIRECTIVES', query: `{__typename ${repeat(1_500, (i) => `@d${i}`)}}` },
  { name: '30,000 directives', verdict: 'QUERY_TOO_LARGE', query: `{__typename ${repeat(30_000, (i) => `@d${i}`)}}` },
  { name: 'a fragment in itself', verdict: INVALID, query: '{...A} fragment A on Query{...A}' },
  {
    name: 'two rings of fragments',
    verdict: INVALID,
    query: `{viewer{...A0 ...B0}} ${ring('A', 120)} ${ring('B', 121)}`,
  },
  { name: 'fragments that make 2^200 scalars', verdict: 'answered', query: fanOut('__typename') },
  { name: 'fragments that make 2^200 objects', verdict: 'TOO_MANY_ALIASES', query: fanOut('viewer{role}') },
  { name: 'overlapping fields', verdict: 'TOO_MANY_ALIASES', query: `{${repeat(280, () => 'viewer{user{id}}')}}` },
  {
    name: '5,000 unused fragments',
    verdict: 'QUERY_TOO_LARGE',
    query: `{__typename} ${repeat(5_000, (i) => `fragment F${i} on User{id}`)}`,
  },
  {
    name: '500 unused fragments',
    verdict: INVALID,
    query: `{__typename} ${repeat(500, (i) => `fragment F${i} on User{id}`)}`,
  },
  {
    name: 'inline fragments, 40 times 100',
    verdict: 'TOO_MANY_TOKENS',
    query: `{viewer{${repeat(40, () => `...{${repeat(100, () => '...{role}')}}`)}}}`,
  },
  {
    name: 'a fragment that is called __schema',
    verdict: 'TOO_DEEP',
    query: `{viewer{...__schema}} fragment __schema on Viewer${nested(15, 'user', 'id')}`,
  },
  {
    name: 'a fragment that is called __proto__',
    verdict: 'TOO_DEEP',
    query: `{viewer{...__proto__}} fragment __proto__ on Viewer${nested(15, 'user', 'id')}`,
  },
  {
    name: 'deep introspection',
    verdict: INVALID,
    query: `{__schema{types${nested(12, 'fields{type', 'name').replaceAll('}', '}}').slice(0, -1)}}}`,
  },
  {
    name: 'introspection 8 times',
    verdict: 'TOO_COSTLY',
    query: `{${repeat(8, (i) => `a${i}:${standard}`)}} ${introspection.slice(introspection.indexOf('fragment'))}`,
  },
  {
    name: '1,000 aliased introspections',
    verdict: 'TOO_MANY_ALIASES',
    query: `{${repeat(600, (i) => `a${i}:__schema{description}`)}}`,
  },
  { name: 'unknown fields that invite suggestions', verdict: INVALID, query: `{${repeat(3_900, (i) => `viewr${i}`)}}` },
  { name: '5,000 operations', verdict: 'TOO_MANY_TOKENS', query: repeat(5_000, () => '{a}') },
  {
    name: '20,000 variables',
    verdict: 'QUERY_TOO_LARGE',
    query: `query(${repeat(20_000, (i) => `$v${i}:Int`)}){__typename}`,
  },
  { name: '900 variables', verdict: INVALID, query: `query(${repeat(900, (i) => `$v${i}:Int`)}){__typename}` },
  {
    name: 'list amplification',
    verdict: 'TOO_COSTLY',
    query: '{viewer{organizations(first:100){nodes{members(first:100){nodes{user{id}}}}}}}',
  },
  { name: 'a query text of 1 MiB', verdict: 'QUERY_TOO_LARGE', query: `{__typename #${'x'.repeat(1_048_576)}\n}` },
  { name: 'comments to the bound', verdict: 'GRAPHQL_PARSE_FAILED', query: `{__typename}${'#\n'.repeat(30_000)}` },
  { name: 'a lone surrogate', verdict: 'GRAPHQL_PARSE_FAILED', query: '{node(id:"\ud800"){id}}' },
  {
    name: '10,000 ids',
    verdict: 'INVALID_INPUT',
    query: 'query($ids:[ID!]!){nodes(ids:$ids){id}}',
    variables: `{"ids":[${'"x",'.repeat(9_999)}"x"]}`,
  },
  {
    name: '10,000 values that cannot be coerced',
    verdict: 'INVALID_INPUT',
    query: 'query($ids:[ID!]!){nodes(ids:$ids){id}}',
    variables: `{"ids":[${'{},'.repeat(9_999)}{}]}`,
  },
  {
    name: 'a variable of 3 MB',
    verdict: 'answered',
    query: 'query($id:ID!){node(id:$id){id}}',
    variables: `{"id":"${'x'.repeat(3_000_000)}"}`,
  },
  {
    name: 'a variable 100,000 deep',
    verdict: 'INVALID_INPUT',
    query: 'query($id:ID!){node(id:$id){id}}',
    variables: `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  },
  {
    name: 'variables called __proto__',
    verdict: 'answered',
    query: '{__typename}',
    variables: '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}',
  },
];

export interface RawAttack {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Bodies that no door may read as what they claim to be. */
export const rawAttacks: readonly RawAttack[] = [
  {
    name: 'a batch of 200',
    status: 400,
    body: JSON.stringify(Array.from({ length: 200 }, () => ({ query: '{__typename}' }))),
  },
  { name: 'JSON 200,000 deep', status: 400, body: `{"query":${'['.repeat(200_000)}${']'.repeat(200_000)}}` },
  { name: 'null', status: 400, body: 'null' },
  { name: 'an empty array', status: 400, body: '[]' },
  { name: 'half a JSON', status: 400, body: '{"query":' },
  { name: 'a key called __proto__', status: 400, body: '{"__proto__":{"query":"{__typename}"}}' },
  { name: '30 MB', status: 413, body: Buffer.alloc(30_000_000, ' ') },
  {
    name: 'an exotic charset',
    status: 415,
    headers: { 'Content-Type': 'application/json; charset=utf-7' },
    body: '{}',
  },
  { name: 'compressed', status: 415, headers: { 'Content-Encoding': 'gzip' }, body: Buffer.from('1f8b08', 'hex') },
  {
    name: 'a form',
    status: 415,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'query={__typename}',
  },
  { name: 'no UTF-8', status: 400, body: Buffer.from('7b22c328227d', 'hex') },
];
