import { expect, test } from 'vitest';
import { contentSecurityPolicy } from '../../../src/core/http/content-security-policy.ts';
import { answerHtml, escapeHtml, wantsHtml } from '../../../src/core/http/html-page.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

test('a page loads everything from the gateway; a page may allow more', () => {
  expect(contentSecurityPolicy()).toBe(POLICY);
  const allowed = contentSecurityPolicy({ 'form-action': 'https://a.example', 'worker-src': 'blob:' });
  expect(allowed).toBe(
    `${POLICY.replace("form-action 'self'", "form-action 'self' https://a.example")}; worker-src blob:`,
  );
});

test('a page is not cached, and has the given status and headers', () => {
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': POLICY,
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
  expect(answerHtml('<p>')).toEqual({ status: 200, headers, body: '<p>' });
  expect(answerHtml('<p>', { status: 404, headers: { 'Cache-Control': 'no-cache', Vary: 'Accept' } })).toEqual({
    status: 404,
    headers: { ...headers, 'Cache-Control': 'no-cache', Vary: 'Accept' },
    body: '<p>',
  });
});

test('text has no effect in a page', () => {
  expect(escapeHtml(`<a href="x" id='y'>&amp;</a>`)).toBe(
    '&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;',
  );
  expect(escapeHtml('Alice\u202E \u2067mallory')).toBe('Alice mallory');
});

test.each([
  ['GET', 'text/html,application/xhtml+xml', true],
  ['HEAD', '*/*;q=0.1, text/html', true],
  ['POST', 'text/html', false],
  ['GET', 'application/json', false],
  ['GET', undefined, false],
])('%s with Accept %s is the request of a browser for a page: %s', (method, accept, expected) => {
  expect(wantsHtml({ method, headers: new Headers({ ...(accept && { accept }) }) })).toBe(expected);
});
