import { expect, test } from 'vitest';
import { answerJson, answerJsonText, answerWith } from '../../../src/core/http/messages.ts';

test('an answer has the status 200 and the headers of its body unless others are given', () => {
  const json = { 'Content-Type': 'application/json' };
  expect(answerWith(null)).toEqual({ status: 200, headers: {}, body: null });
  expect(answerJsonText('{ }')).toEqual({ status: 200, headers: json, body: '{ }' });
  expect(answerJson({ a: 1 })).toEqual({ status: 200, headers: json, body: '{"a":1}' });
  const more = { status: 400, headers: { 'Content-Type': 'application/problem+json', Vary: 'Accept' } };
  expect(answerJson({ a: 1 }, more)).toEqual({ ...more, body: '{"a":1}' });
  expect(answerWith('text', more)).toEqual({ ...more, body: 'text' });
});
