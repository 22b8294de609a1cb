import { readFileSync } from 'node:fs';
import { contentSecurityPolicy } from '../../core/http/content-security-policy.ts';
import { answerHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import { publishScript } from './scripts.ts';
import { publish, publishFromPackage, publishOwn } from './files.ts';
import { HEADER_STYLE, type HeaderSettings, type Visitor, header } from './header.ts';
import { layout } from './layout.ts';

/**
 * The GraphiQL page (docs/decisions/browser-pages.md). It loads the published schema, so that documentation and
 * completion work without a sign-in. Requests are authenticated with the sign-in cookie, or with headers that the user
 * enters.
 */
export function graphiqlPage(visitor: Visitor, settings: HeaderSettings): HttpAnswer {
  const { styles, scripts, main, examples } = (assets ??= publishAssets());
  const head = [
    ...[HEADER_STYLE, ...styles].map((address) => `<link rel="stylesheet" href="${address}">`),
    ...scripts.map((address) => `<script defer src="${address}"></script>`),
    `<script type="module" src="${main}"></script>`,
  ].join('\n    ');
  const body = `${header('/graphql', visitor, settings)}
<main id="graphiql" class="graphiql-page" data-examples="${examples}"><noscript>GraphiQL needs JavaScript. The API itself is at this address, by POST.</noscript></main>`;
  const html = layout({ title: 'GraphiQL – Workspace gateway', head, body, bodyClass: 'tool-page' });
  return answerHtml(html, { headers: { 'Content-Security-Policy': POLICY } });
}

/** GraphiQL needs inline styles, because its dialogs and menus set styles of the page. */
const POLICY = contentSecurityPolicy({ 'style-src': "'unsafe-inline'" });

let assets: ReturnType<typeof publishAssets> | undefined;

const EXAMPLES = 'graphiql-examples.graphql';

const publishAssets = () => ({
  styles: [publishFromPackage('graphiql/graphiql.min.css'), publishOwn('graphiql.css')],
  scripts: [
    'react/umd/react.production.min.js',
    'react-dom/umd/react-dom.production.min.js',
    'graphiql/graphiql.min.js',
  ].map(publishFromPackage),
  main: publishScript('graphiql'),
  examples: publish(EXAMPLES, readFileSync(new URL(`browser/${EXAMPLES}`, import.meta.url))),
});
