/** The widest JSON of about `bytes` bytes, by what takes long to read, check, search, convert or write. */

/** What the JSON of a kind is put into. */
export interface Target {
  /** The name of a member that the object has. */
  readonly member: string;
  /** The JSON of an item that the list may have. */
  readonly item: string;
}

/** Where the JSON of a kind is put: more members of an object, the items of a list, a text, or any value. */
export type Takes = 'members' | 'items' | 'text' | 'value';

export interface Kind {
  readonly name: string;
  readonly takes: Takes;
  readonly json: (bytes: number, target: Target) => string;
}

export const DEPTH = 9_000;

/** As many parts as fit, separated by commas. */
function several(bytes: number, partOf: (index: number) => string): string {
  const parts: string[] = [];
  for (let length = 0, index = 0; length < bytes; index += 1) {
    const part = partOf(index);
    parts.push(part);
    length += part.length + 1;
  }
  return parts.join(',');
}

/** The same part as often as it fits. `part` is counted in characters of ASCII. */
const repeated = (bytes: number, part: string) => part.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(part))));
const listOf = (bytes: number, item: string) => `${repeated(bytes, `${item},`)}${item}`;
const nested = (open: string, close: string, levels = DEPTH) => `${open.repeat(levels)}1${close.repeat(levels)}`;

const MEMBERS: Readonly<Record<string, Kind['json']>> = {
  'unknown names': (bytes) => several(bytes, (index) => `"k${index}":1`),
  'numbers as names': (bytes) => several(bytes, (index) => `"${index}":1`),
  'secret names': (bytes) => several(bytes, (index) => `"token${index}":"a"`),
  'escaped names': (bytes) => several(bytes, (index) => String.raw`"\u0001${index}":1`),
  'names that need escapes in paths': (bytes) => several(bytes, (index) => `"a.b[${index}]\\"":{}`),
  'one name repeated': (bytes) => listOf(bytes, '"a":1'),
  'a known name repeated': (bytes, { member }) => listOf(bytes, `${JSON.stringify(member)}:1`),
  '__proto__ repeated': (bytes) => listOf(bytes, '"__proto__":{"a":1}'),
  '__proto__ in __proto__': () => `"__proto__":${nested('{"__proto__":', '}')}`,
  'a long name': (bytes) => `"${'a'.repeat(bytes)}":1`,
  'a long name with escapes': (bytes) => `"${repeated(bytes, String.raw`\u0001`)}":1`,
  'a secret as a name': (bytes) => `"${repeated(bytes, 'ghs_1_')}":1`,
  'unknown objects': (bytes) => several(bytes, (index) => `"k${index}":{"a":{}}`),
};

const ITEMS: Readonly<Record<string, Kind['json']>> = {
  'the same item': (bytes, { item }) => listOf(bytes, item),
  'different items': (bytes, { item }) => several(bytes, (index) => numbered(item, index)),
  'a hundred items with long texts': (bytes, target) => longItems(bytes, target, 100, 'a '),
  numbers: (bytes) => listOf(bytes, '1'),
  'empty texts': (bytes) => listOf(bytes, '""'),
  'empty objects': (bytes) => listOf(bytes, '{}'),
  'empty lists': (bytes) => listOf(bytes, '[]'),
  nulls: (bytes) => listOf(bytes, 'null'),
};

/** The first text of an item with a number, so that items differ; the last digits of an id stay digits. */
export function numbered(item: string, index: number): string {
  const count = String(index);
  return item.replace(/"((?:[^"\\]|\\.)*)"(?!\s*:)/, (_, text: string) =>
    /^[0-9a-f-]{36}$/.test(text) ? `"${text.slice(0, -count.length)}${count}"` : `"${text}${count}"`,
  );
}

/** So many items of which the last text is long. */
function longItems(bytes: number, { item }: Target, count: number, part: string): string {
  const long = repeated(bytes / count - item.length - 10, part);
  const lengthened = item.replace(/"((?:[^"\\]|\\.)*)"(?=\W*$)/, () => `"${long}"`);
  return Array<string>(count).fill(lengthened).join(',');
}

/** Parts of texts that a rule, a parser or a converter could read again and again. */
const TEXTS: Readonly<Record<string, string>> = {
  letters: 'a',
  'runs of spaces': ' ',
  newlines: String.raw`\n`,
  'control characters': String.raw`\u0001`,
  'characters that are replaced': String.raw`\u0000`,
  'escaped letters': String.raw`\u0041`,
  'quotation marks': String.raw`\"`,
  backslashes: String.raw`\\`,
  'half surrogates': String.raw`\ud800`,
  backticks: '`',
  markup: '<b>',
  'references of characters': '&lt;',
  links: '[a](',
  emphasis: '*_',
  digits: '7',
  dots: '.',
  at: 'a@',
  hyphens: '-a',
  slashes: '../',
  percent: '%25',
  commas: 'a,',
  'combined characters': 'e\u0301',
  'letters that grow in lower case': '\u0130',
  'other scripts': '\u4E2D',
  'JSON in a text': String.raw`{\"a\":[`,
  'lines in a text': String.raw`- a\n`,
  'tokens of GitHub': 'ghs_1_',
  'tokens of GitHub with a dot': `${'ghs_1_'.repeat(166)}.${'ghs_1_'.repeat(1665)}`,
  'keys of SendGrid': `SG.a.${'_'.repeat(200)}`,
  'one key of SendGrid': '_',
  'addresses of databases': 'postgres://',
  'addresses with passwords': 'https://u:p@h/ ',
  'unfinished addresses with passwords': 'https://u:',
  'tokens of Vercel': 'vcp_aaaaaaaa_',
  'tokens of Slack': 'xoxb-1-',
  'tokens of AWS': 'AKIAAAAAAAAAAAAAAAA',
  'tokens of npm': 'npm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  'parts of web tokens': 'eyJa.eyJ',
  'keys of this gateway': `wgk_${'a'.repeat(36)} `,
  'beginnings of private keys': '-----BEGIN PRIVATE KEY-----',
  authorizations: 'authorization: bearer ',
  assignments: 'password=',
  'assignments in quotation marks': String.raw`\"api_key\": \"`,
  cookies: 'Cookie: a=b; ',
};

const text = (bytes: number, part: string) => `"${repeated(bytes, part)}"`;

const VALUES: Readonly<Record<string, Kind['json']>> = {
  'a text': (bytes) => text(bytes, 'a'),
  'a text in a list': (bytes) => `[${text(bytes, 'a')}]`,
  'a text in an object': (bytes) => `{"a":${text(bytes, 'a')}}`,
  'deep lists': () => nested('[', ']'),
  'deep objects': () => nested('{"a":', '}'),
  'many deep objects': (bytes) => `[${listOf(bytes - 1_000, nested('{"a":', '}', 90))}]`,
  numbers: (bytes) => `[${listOf(bytes, '1')}]`,
  'long numbers': (bytes) => `[${listOf(bytes, '12345678901234567890')}]`,
  'numbers with exponents': (bytes) => `[${listOf(bytes, '1e-310')}]`,
  'one long number': (bytes) => '7'.repeat(bytes),
  'a fraction with zeros': (bytes) => `0.1${'0'.repeat(bytes - 10)}1`,
  'empty lists': (bytes) => `[${listOf(bytes, '[]')}]`,
  'empty objects': (bytes) => `[${listOf(bytes, '{}')}]`,
  'empty texts': (bytes) => `[${listOf(bytes, '""')}]`,
  'objects with one member': (bytes) => `[${listOf(bytes, '{"type":"a"}')}]`,
  'names of members': (bytes) => `{${several(bytes, (index) => `"k${index}":1`)}}`,
  'members of members': (bytes) => `{${several(bytes, (index) => `"k${index}":{"a":[{}]}`)}}`,
};

const kindsOf = (takes: Takes, kinds: Readonly<Record<string, Kind['json']>>) =>
  Object.entries(kinds).map(([name, json]): Kind => ({ name, takes, json }));

export const KINDS: readonly Kind[] = [
  ...kindsOf('members', MEMBERS),
  ...kindsOf('items', ITEMS),
  ...kindsOf('value', VALUES),
  ...Object.entries(TEXTS).flatMap(([name, part]): Kind[] => [
    { name, takes: 'text', json: (bytes) => text(bytes, part) },
    { name: `five items with ${name}`, takes: 'items', json: (bytes, target) => longItems(bytes, target, 5, part) },
  ]),
];
