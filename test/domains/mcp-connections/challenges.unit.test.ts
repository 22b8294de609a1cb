import { expect, test } from 'vitest';
import { readChallenge } from '../../../src/domains/mcp-connections/remote/challenges.ts';

const URL_TEXT = 'https://mcp.example/meta?a=b,c';

test.each<[string | null, ReturnType<typeof readChallenge>]>([
  [null, {}],
  ['', {}],
  ['Bearer', {}],
  ['Basic realm="a, Bearer scope=b"', {}],
  [`Bearer resource_metadata="${URL_TEXT}"`, { resourceMetadataUrl: new URL(URL_TEXT) }],
  [`bearer  resource_metadata = "${URL_TEXT}" ,scope="a b"`, { resourceMetadataUrl: new URL(URL_TEXT), scope: 'a b' }],
  [`Negotiate, Bearer scope=one`, { scope: 'one' }],
  [`Basic realm="x", Bearer error="insufficient_scope", scope="a"`, { error: 'insufficient_scope', scope: 'a' }],
  [`Negotiate dG9rZW4=, Bearer scope="a"`, { scope: 'a' }],
  [`Basic realm="x", scope="not this", Bearer scope="this"`, { scope: 'this' }],
  [`Bearer error="invalid_token", Bearer scope="second"`, { error: 'invalid_token', scope: 'second' }],
  [`DPoP resource_metadata="${URL_TEXT}"`, { resourceMetadataUrl: new URL(URL_TEXT) }],
  [String.raw`Bearer scope="a \"b\""`, { scope: 'a "b"' }],
  ['Bearer resource_metadata="no url"', {}],
  ['Bearer resource_metadata="/meta?a=b"', { resourceMetadataUrl: new URL('https://mcp.example/meta?a=b') }],
  [`Bearer realm='x'; resource_metadata='${URL_TEXT}'`, { resourceMetadataUrl: new URL(URL_TEXT) }],
  [`resource_metadata="${URL_TEXT}", scope="a"`, { resourceMetadataUrl: new URL(URL_TEXT), scope: 'a' }],
  ['Bearer ,,, ; = "', {}],
])('%s', (header, expected) => {
  expect(readChallenge(header, 'https://mcp.example/v1')).toEqual(expected);
});

test('a hostile header is read in time that grows with its length', () => {
  for (const part of ['"', "'", 'a=', 'a="', "a='", ',', ' ', '\\"'])
    expect(readChallenge(`Bearer ${part.repeat(20_000)}`, 'https://mcp.example/v1')).toEqual(expect.any(Object));
});
