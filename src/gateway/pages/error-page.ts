import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { DomainError } from '../../core/errors.ts';
import { smallPage } from './layout.ts';

const TITLES: Readonly<Record<number, string>> = {
  401: 'Sign in first',
  403: 'Not allowed',
  404: 'Page not found',
  405: 'Method not allowed',
  410: 'Removed',
  429: 'Too many requests',
  503: 'Service unavailable',
};

/** Answers an error as an HTML page. */
export function errorPage({ status, message, headers }: DomainError, requestId: string): HttpAnswer {
  const title = TITLES[status] ?? 'Something went wrong';
  const html = smallPage(
    title,
    `<h1>${title}</h1>
<p>${escapeHtml(message.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase()))}</p>
<p class="soft">Status ${status}, request ${escapeHtml(requestId)}</p>
<ul class="links"><li><a href="/">Console</a></li><li><a href="/graphql">GraphiQL</a></li><li><a href="/docs">REST reference</a></li></ul>`,
  );
  // A browser loads the page again by itself when the gateway may be ready.
  return answerHtml(html, { status, headers: status === 503 ? { ...headers, Refresh: '5' } : headers });
}
