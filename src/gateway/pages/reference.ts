import { contentSecurityPolicy } from '../../core/http/content-security-policy.ts';
import { answerHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import { publishScript } from './scripts.ts';
import { publishFromPackage, publishOwn } from './files.ts';
import { HEADER_STYLE, type HeaderSettings, type Visitor, header } from './header.ts';
import { layout } from './layout.ts';

/**
 * The REST reference: Swagger UI for `/openapi.json`. Requests are authenticated with the sign-in cookie, or with a key
 * that the user enters.
 */
export function referencePage(visitor: Visitor, settings: HeaderSettings): HttpAnswer {
  const { styles, bundle, main } = (assets ??= publishAssets());
  const head = [
    ...[HEADER_STYLE, ...styles].map((address) => `<link rel="stylesheet" href="${address}">`),
    `<script defer src="${bundle}"></script>`,
    `<script type="module" src="${main}"></script>`,
  ].join('\n    ');
  const body = `${header('/docs', visitor, settings)}
<div class="reference-page">
<nav id="groups" aria-label="Groups of operations"><ul></ul></nav>
<div id="reference"><noscript>The reference needs JavaScript. The same information is in the file <a href="/openapi.json">openapi.json</a>.</noscript></div>
</div>`;
  const html = layout({ title: 'REST reference – Workspace gateway', head, body });
  return answerHtml(html, { headers: { 'Content-Security-Policy': POLICY } });
}

/** Swagger UI needs inline styles. */
const POLICY = contentSecurityPolicy({ 'style-src': "'unsafe-inline'" });

let assets: ReturnType<typeof publishAssets> | undefined;

const publishAssets = () => ({
  styles: [publishFromPackage('swagger-ui-dist/swagger-ui.css'), publishOwn('reference.css')],
  bundle: publishFromPackage('swagger-ui-dist/swagger-ui-bundle.js'),
  main: publishScript('reference'),
});
