import { expect, test, vi } from 'vitest';
import { redactDocuments, redactValue } from '../../../src/core/redaction/redact.ts';
import { WorkSlices } from '../../../src/core/work-budget.ts';

/** Credentials are joined here, so that no scanner takes them for real ones. */

const join = (...parts: string[]) => parts.join('');
const NPM = join('npm_', 'abcdefghijklmnopqrstuvwxyz0123456789');
const GITLAB = join('glpat-', 'aB3dE6gH9jK2mN5pQ8sT');
const OURS = `wgk_${'a1B2'.repeat(9)}`;
const AWS = join('wJalrXUtnFEMI', '/K7MDENG/', 'bPxRfiCYABCDEFGHIJ');

const json = (text: string) => JSON.stringify({ text });
const redacted = async (...texts: string[]) =>
  (await redactDocuments(texts.map(json))).documents.map((document) => (JSON.parse(document) as { text: string }).text);

test('the name of a property tells of its value, and a name in the text of its end', async () => {
  const documents = [
    JSON.stringify({ headers: { Authorization: 'Bearer abcdefghijk12345', 'Content-Type': 'application/json' } }),
    JSON.stringify({ aws_secret_access_key: AWS, key: 'value of a key' }),
    JSON.stringify({ text: `export aws_secret_access_key = ${AWS} # end` }),
  ];
  expect(await redactDocuments(documents)).toEqual({
    documents: [
      '{"headers":{"Authorization":"Bearer [redacted]","Content-Type":"application/json"}}',
      '{"aws_secret_access_key":"[redacted]","key":"value of a key"}',
      '{"text":"export aws_secret_access_key = [redacted] # end"}',
    ],
    secrets: 3,
  });
});

test.each([
  [`curl -H 'Authorization: ApiKey abcd1234'`, `curl -H 'Authorization: ApiKey [redacted]'`],
  ['authorization=token\tabcdefgh', 'authorization=token\t[redacted]'],
  ['Authorization: 0123456789abcdefg, more', 'Authorization: [redacted], more'],
  ['Authorization: SharedKey account:0123456789abc=', 'Authorization: SharedKey [redacted]'],
  [String.raw`{\"x-api-key\": \"abcdefghijklmnop\"`, String.raw`{\"x-api-key\": \"[redacted]\"`],
  ['redis://u:p@host:6379/0', 'redis://[redacted]@host:6379/0'],
  ['amqps://:s3cret@host', 'amqps://[redacted]@host'],
  ['see https://user:p%40ss@host.example/a@b.', 'see https://[redacted]@host.example/a@b.'],
  ['https://a:b@c@host', 'https://[redacted]@host'],
  [String.raw`"mongodb+srv:\/\/u:s3cret@host"`, String.raw`"mongodb+srv:\/\/[redacted]@host"`],
  [`export KEY_${OURS}`, 'export KEY_[redacted]'],
  [`KEY=${OURS}\\n`, 'KEY=[redacted]\\n'],
  [String.raw`a\n${GITLAB}\n`, String.raw`a\n[redacted]\n`],
  [String.raw`a\u0022${NPM}`, String.raw`a\u0022[redacted]`],
  [String.raw`C:\new\n${OURS}`, String.raw`C:\new\n[redacted]`],
  [`C:\\${NPM}`, 'C:\\[redacted]'],
  [`?token%3D${GITLAB}&`, '?token%3D[redacted]&'],
  [`\u001b[31m${GITLAB}\u001b[0m`, '\u001b[31m[redacted]\u001b[0m'],
  [`["${GITLAB}","\\u0067lpat"]`, '["[redacted]","\\u0067lpat"]'],
])('%s', async (text, expected) => {
  expect(await redacted(text)).toEqual([expected]);
  // Within a text of JSON, within another.
  const nested = (value: string) => JSON.stringify({ a: JSON.stringify({ b: [value] }) });
  expect(await redacted(nested(text))).toEqual([nested(expected)]);
});

test.each([
  'Authorization: required for each request, see Basic auth',
  'Authorization: Bearer $TOKEN, Authorization: Bearer <token>, Authorization: Bearer ${process.env.TOKEN}',
  'http://localhost:3000?mail=a@b.c http://localhost:3000#a@b https://host/a:b@c git@github.com:a/b.git',
  'postgres://user:$PASSWORD@host redis://u:***@host ssh://git@host:22/a',
  'a risk-or-reward-of-something-long, sk-short, AKIA, ghp_ and glpat-short',
  'function authorize(apiKey: string) { return headers.authorization; }',
])('no credential: %s', async (text) => {
  expect(await redacted(text)).toEqual([text]);
});

test('names of members are replaced too, and stay different', async () => {
  const document = `{"${NPM}":1,"a ${GITLAB}":{"${NPM}":2},"${OURS}":3,"[redacted]":4}`;
  expect(await redactDocuments([document])).toEqual({
    documents: ['{"[redacted]":1,"a [redacted]":{"[redacted]":2},"[redacted] 2":3,"[redacted] 3":4}'],
    secrets: 3,
  });
});

test('a text ends what a pattern matches, and hides no other text', async () => {
  const begun = '-----BEGIN PRIVATE KEY-----';
  for (const texts of [
    [begun, 'rm -rf everything, in another text', 'see -----END PRIVATE KEY-----'],
    [begun, 'rm -rf everything, in another text'],
  ])
    expect(await redacted(...texts)).toEqual(['[redacted]', ...texts.slice(1)]);
  expect(await redacted(begun, `a ${NPM}`, begun, GITLAB)).toEqual([
    '[redacted]',
    'a [redacted]',
    '[redacted]',
    '[redacted]',
  ]);
  const separate = [
    'Authorization: Bearer',
    'abcdefghijk12345',
    'aws_secret_access_key =',
    AWS,
    'redis://u',
    ':p@host',
  ];
  expect(await redacted(...separate)).toEqual(separate);
});

test('a credential is found wherever it is in a long text, and what is none is none there too', async () => {
  const long = `Authorization: Bearer ${'eyJhbGciOiJSUzI1NiJ9.'.repeat(500)}`;
  for (const kib of [32, 48, 64])
    for (const before of [1, 10, 20, 64].map((distance) => 'x '.repeat(kib * 512).slice(distance))) {
      expect(await redacted(`${before}${GITLAB} after`)).toEqual([`${before}[redacted] after`]);
      expect(await redacted(`${before}${long} after`)).toEqual([`${before}Authorization: Bearer [redacted] after`]);
      const word = `${before.slice(1)}${GITLAB}`.replace(/ glpat|x glpat/, 'xxglpat');
      expect(await redacted(word)).toEqual([word]);
      // Too long for a token, however much of it is searched at once.
      const tooLong = `${before}glpat-${'aB3-'.repeat(50)} after`;
      expect(await redacted(tooLong)).toEqual([tooLong]);
    }
});

test('other data keeps its text: long numbers, spaces and the order of fields', async () => {
  const plain = '{"b":1.0,"a":12345678901234567890,"c":"nothing to hide, sk-short and AKIA too"}';
  const secret = `{"n":12345678901234567890,"${'k'.repeat(40)}":["${NPM}","${NPM}"],"__proto__":"${NPM}"}`;
  expect(await redactDocuments([plain, secret, secret])).toEqual({
    documents: [plain, ...Array(2).fill(secret.replaceAll(NPM, '[redacted]'))],
    secrets: 2,
  });
  expect((await redactDocuments([secret, secret], () => 0)).secrets).toBe(1);
  const growing = [OURS.slice(0, 30), `${OURS.slice(0, 30)} ${NPM}`, OURS].map(json);
  expect((await redactDocuments(growing, () => 0)).secrets).toBe(2);
  const value = { a: [1, null, 'x'] };
  const on = { settings: { isRecordRedacted: true } };
  expect(await redactValue(on, value)).toBe(value);
  expect(await redactValue(on, { ...value, b: `a ${NPM}` })).toEqual({ ...value, b: 'a [redacted]' });
});

test.each([
  ['beginnings', 'ghs_1_'],
  ['credentials', `${GITLAB} `],
  ['addresses', 'https://u:s3cret@h '],
  ['escapes', String.raw`wgk_\n`],
  ['private keys', '-----BEGIN PRIVATE KEY-----'],
])('what patterns read grows as the text, in slices: %s', async (_, unit) => {
  const search = vi.spyOn(String.prototype, 'matchAll');
  const slice = vi.spyOn(WorkSlices.prototype, 'isOver').mockReturnValue(true);
  const workOf = async (length: number) => {
    search.mockClear();
    slice.mockClear();
    await redactDocuments([json(unit.repeat(length / unit.length))]);
    const read = search.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
    return { read, slices: slice.mock.calls.length };
  };
  const [small, large] = [await workOf(100_000), await workOf(400_000)];
  search.mockRestore();
  slice.mockRestore();
  expect(large.read / small.read).toBeLessThan(4.5);
  // A slice reads at most one part with one pattern.
  expect(large.read / large.slices).toBeLessThan(64 * 1024);
});

test('other requests run between the members of a document', async () => {
  const slice = vi.spyOn(WorkSlices.prototype, 'isOver');
  const members = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`name ${index}`, [`wgk_${index}`]]));
  for (const document of [JSON.stringify(members), json(JSON.stringify(members))]) {
    slice.mockClear();
    await redactDocuments([document]);
    expect(slice.mock.calls.length).toBeGreaterThan(10_000);
  }
  slice.mockRestore();
});

test('a credential of each of many texts is replaced, equal ones at once', async () => {
  const texts = Array.from({ length: 5000 }, (_, index) => join('gh', 'p_', String(index % 2500).padStart(36, 'a')));
  expect(await redactDocuments([JSON.stringify(texts)])).toEqual({
    documents: [JSON.stringify(texts.map(() => '[redacted]'))],
    secrets: 2500,
  });
});
