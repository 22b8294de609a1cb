import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { full } from '../../support/proof.ts';
import { anyText } from '../../support/fixtures/any-text.ts';
import { ADDRESS_RULE, doc, image, link, messageOf, safe, words } from '../../support/fixtures/rich-text.ts';

const unsafe = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  '\u0001javascript:alert(1)',
  '\u00a0javascript:alert(1)',
  '\ufeffjavascript:alert(1)',
  'java\u00adscript:alert(1)',
  'javascript\u200b:alert(1)',
  'javascript://example.com/%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:image/png;base64,AAAA',
  'vbscript:msgbox(1)',
  'file:///etc/passwd',
  'ftp://example.com',
  'blob:https://example.com/x',
  'tel:123',
  'about:blank',
  'view-source:https://example.com',
  'unknown:thing',
  ':',
  '://example.com',
  '//example.com',
  '///example.com',
  '\\\\example.com',
  '/\\example.com',
  '\\/example.com',
  '/\t/example.com',
  'https:example.com',
  'https:/example.com',
  'https:///example.com',
  'https://',
  'http://[::1',
  'https:\\\\example.com',
  'https://example.com/a b',
  'https://example.com/\u202egnp.exe',
  'https://example.com/\0',
  '\ud800',
  'mailto:',
  'mailto://:',
  'mailto://example.com',
  'mailto:/ada@example.com',
  'mailto:ada',
  'mailto:@',
  'mailto:ada@',
  'mailto:@example.com',
  'mailto:ada@home@example.com',
  'mailto:ada..l@example.com',
  'mailto:.ada@example.com',
  'mailto:ada@example.com.',
  'mailto:ada@example.com,',
  'mailto:ada@[127.0.0.1]',
  'mailto:"ada"@example.com',
  'mailto:<ada@example.com>',
  'mailto:%4@example.com',
  'mailto:%zz@example.com',
  'mailto:javascript:alert(1)',
  'mailto:?',
  'mailto:#part',
  'mailto:ada@example.com?',
  'mailto:ada@example.com?subject',
  'mailto:ada@example.com?=a',
  'mailto:ada@example.com?subject=a&',
  'mailto:ada@example.com?subject="a"',
  '',
  ' ',
  `/${'a'.repeat(8192)}`,
];

describe('addresses', () => {
  test.each(unsafe)('%j is refused in a link and in an image', (address) => {
    expect(messageOf(doc(words('a', link(address))))).toBe(`richContent.content.0.marks.0.attrs.href: ${ADDRESS_RULE}`);
    expect(messageOf(doc(image(address)))).toBe(`richContent.content.0.attrs.src: ${ADDRESS_RULE}`);
  });

  test.each(safe)('%j is accepted in a link and in an image', (address) => {
    expect(messageOf(doc(words('a', link(address)), image(address)))).toBe('accepted');
  });

  test('are checked in every node and mark, whatever its type is and however deep they are nested', () => {
    const bad = 'javascript:alert(1)';
    expect(messageOf(doc({ type: 'iframe', attrs: { SRC: bad } }))).toBe(
      `richContent.content.0.attrs.SRC: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc({ type: 'card', attrs: { items: [{ url: [bad] }] } }))).toBe(
      `richContent.content.0.attrs.items.0.url.0: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc(words('a', { type: 'Link', attrs: { href: bad } })))).toBe(
      `richContent.content.0.marks.0.attrs.href: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc({ type: 'form', attrs: { formAction: bad } }))).toBe(
      `richContent.content.0.attrs.formAction: ${ADDRESS_RULE}`,
    );
    expect(messageOf(doc({ type: 'card', attrs: { href: null, note: bad } }))).toBe('accepted');
  });

  test.each(['onclick', 'onLoad', 'srcdoc', 'srcset', 'style'])('an attribute %s is refused', (name) => {
    expect(messageOf(doc({ type: 'card', attrs: { inner: { [name]: 'x' } } }))).toBe(
      `richContent.content.0.attrs.inner.${name}: is not allowed: it can contain a script`,
    );
  });

  test('that are accepted resolve by the URL Standard to http, https or mailto, and a relative one to the same host', () => {
    const part = fc.constantFrom(
      'javascript',
      'data',
      'http',
      'https',
      'mailto',
      ':',
      '/',
      '//',
      '\\',
      '\t',
      '\n',
      ' ',
      '\u0000',
      '\u200b',
      '?',
      '#',
      '@',
      '.',
      '%0a',
      'a.example',
      'é',
    );
    const parts = fc.array(part, { maxLength: 7 }).map((several) => several.join(''));
    const beginnings = fc.constantFrom('', 'https://', 'mailto:', 'mailto:a@a.example', '/');
    const address = fc.tuple(beginnings, fc.oneof(parts, anyText())).map((both) => both.join(''));
    fc.assert(
      fc.property(address, (href) => {
        if (messageOf(doc(words('a', link(href)))) !== 'accepted') return;
        const { protocol, host } = new URL(href, 'https://page.example/dir/');
        expect(['http:', 'https:', 'mailto:']).toContain(protocol);
        expect(/^(?:https?:\/\/|mailto:)/i.test(href) || host === 'page.example').toBe(true);
      }),
      { numRuns: full ? 20_000 : 500 },
    );
  });
});
