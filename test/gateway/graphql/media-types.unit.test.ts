import { expect, test } from 'vitest';
import { acceptsEvents, resultTypeFor } from '../../../src/gateway/graphql/media-types.ts';

const JSON_TYPE = 'application/json';
const RESPONSE = 'application/graphql-response+json';
const EVENTS = 'text/event-stream';

test.each([
  [null, RESPONSE],
  ['', RESPONSE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  ['text/*', EVENTS],
  [RESPONSE, RESPONSE],
  [`${RESPONSE}; charset=utf-8, ${JSON_TYPE}; charset=utf-8`, RESPONSE],
  [`${JSON_TYPE}, ${RESPONSE}`, JSON_TYPE],
  [`${JSON_TYPE};q=0.5, ${RESPONSE};q=0.9`, RESPONSE],
  [`${RESPONSE}, ${JSON_TYPE};q=0.9, */*;q=0.1`, RESPONSE],
  [`${EVENTS}, ${JSON_TYPE};q=0.1`, JSON_TYPE],
  [`${EVENTS}, text/html`, EVENTS],
  [`*/*, ${JSON_TYPE};q=0`, RESPONSE],
  [`text/html, application/xhtml+xml, */*;q=0.8`, JSON_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
  [`${RESPONSE}; charset="UTF-8"`, RESPONSE],
  [`${RESPONSE};charset=utf8`, RESPONSE],
  [`${RESPONSE}; charset=latin1, ${JSON_TYPE}`, JSON_TYPE],
  [`${JSON_TYPE};q=nonsense`, JSON_TYPE],
  ['text/html', undefined],
  [`${JSON_TYPE};q=0`, undefined],
  [', ;', undefined],
])('Accept: %j is answered as %s', (accept, expected) => {
  expect(resultTypeFor(accept)).toBe(expected);
});

test.each([
  [`${JSON_TYPE}, ${EVENTS}`, true],
  ['*/*', true],
  [null, true],
  [JSON_TYPE, false],
  [`*/*, ${EVENTS};q=0`, false],
])('Accept: %j accepts server-sent events: %s', (accept, expected) => {
  expect(acceptsEvents(accept)).toBe(expected);
});
