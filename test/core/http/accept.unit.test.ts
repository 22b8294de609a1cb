import { expect, test } from 'vitest';
import { prefers } from '../../../src/core/http/accept.ts';
import { wantsHtml } from '../../../src/core/http/html-page.ts';
import { wantsStream } from '../../../src/core/http/server-sent-events.ts';

/** RFC 9110, section 12.5.1, wherever an answer has more than one form. */

const accepting = (accept: string) => new Headers(accept === '' ? {} : { Accept: accept });

test.each([
  ['', false],
  ['*/*', false],
  ['text/event-stream', true],
  ['text/event-stream;q=0', false],
  ['text/event-stream;q=0, application/json', false],
  ['application/json;q=0.9, text/event-stream;q=0.5', false],
  ['application/json;q=0.5, text/event-stream;q=0.9', true],
  ['text/*', true],
  ['text/event-streams', false],
])('%s: a stream is wanted: %s', (accept, wanted) => {
  expect(wantsStream(accepting(accept))).toBe(wanted);
});

test.each([
  ['text/csv;q=0, */*', false],
  ['text/csv, */*;q=0.1', true],
  ['application/json, text/csv', false],
])('%s: CSV is preferred: %s', (accept, wanted) => {
  expect(prefers('text/csv', accepting(accept))).toBe(wanted);
});

test.each([
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
  ['application/json, text/html;q=0.5', false],
  ['text/html;q=0, */*', false],
])('%s: a page is wanted: %s', (accept, wanted) => {
  expect(wantsHtml({ method: 'GET', headers: accepting(accept) })).toBe(wanted);
});
