import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type HttpAnswer, answerWith } from '../../core/http/messages.ts';
import { notFound } from '../../core/errors.ts';
import { EXAMPLES } from './graphiql-examples.ts';
import { GRAPHIQL_STYLE, REFERENCE_STYLE } from './styles.ts';

/**
 * The pages for people. Everything on them comes from packages that were installed: no page loads anything from another host.
 *
 * They are held as bytes, once: anybody may ask for them, and an answer whose reader does not read would keep a copy of its own.
 */

const resolve = createRequire(import.meta.url).resolve;

// Both tools build their styles, and GraphiQL its workers, within the page; nothing may come from or go to another origin.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

function page(html: Buffer): HttpAnswer {
  return answerWith(html, {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': CONTENT_SECURITY_POLICY },
  });
}

let graphiql: Buffer | undefined;

/** GraphiQL, with an example of each noun in its tabs and the header for the key ready to be filled in. */
export async function graphiqlPage(): Promise<HttpAnswer> {
  // Tens of megabytes, which only a gateway that shows the page is to hold.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  graphiql ??= Buffer.from(
    renderGraphiQL({
      title: 'Workspace gateway',
      defaultTabs: EXAMPLES.map(({ query, variables }) => ({ query, variables: variables ?? '{}', headers: HEADERS })),
      headers: HEADERS,
      defaultEditorToolsVisibility: 'headers',
      // A key is not left behind in the browser's storage.
      shouldPersistHeaders: false,
      subscriptionsProtocol: 'SSE',
    }).replace('<head>', () => `<head>${SHARE_KEY_BETWEEN_TABS}${TABS_FOR_EVERYBODY}<style>${GRAPHIQL_STYLE}</style>`),
  );
  return page(graphiql);
}

/** One word, so that a double click selects all of it; and ASCII, because browsers send no other header. */
const PLACEHOLDER = 'wgk_YOUR_KEY';
const HEADERS = JSON.stringify({ Authorization: `Bearer ${PLACEHOLDER}` }, null, 2);

/**
 * GraphiQL keeps the headers of each tab apart. A key that was put into one serves the others as long as they still have the placeholder.
 * It is held in the page's memory alone.
 */
const SHARE_KEY_BETWEEN_TABS = `<script>
  const plainFetch = window.fetch;
  let authorization;
  window.fetch = (input, init) => {
    const request = new Request(input, init);
    const given = request.headers.get('authorization');
    if (given && !given.includes('${PLACEHOLDER}')) authorization = given;
    else if (authorization) request.headers.set('authorization', authorization);
    return plainFetch(request);
  };
</script>`;

/**
 * GraphiQL's tabs hold a button each that closes them, which is lost in a tab: its children are presentational (WAI-ARIA 1.2, `tab`).
 * So they are told as what they are: a list of buttons, one of them the current one, and the region that it names.
 */
const TABS_FOR_EVERYBODY = `<script>
  new MutationObserver(() => {
    const tell = (selector, role) => document.querySelectorAll(selector).forEach((element) => element.setAttribute('role', role));
    tell('.graphiql-tabs', 'list');
    tell('.graphiql-tab', 'listitem');
    tell('#graphiql-session', 'region');
    document.querySelectorAll('.graphiql-tab[aria-selected]').forEach((tab) => {
      tab.querySelector('.graphiql-tab-button').setAttribute('aria-current', tab.getAttribute('aria-selected'));
      tab.removeAttribute('aria-selected');
    });
  }).observe(document, { childList: true, subtree: true, attributeFilter: ['aria-selected'] });
</script>`;

/**
 * Swagger UI leaves some fields without a name, and some texts that scroll out of reach of the keyboard. Its button that opens an operation
 * holds a link that does nothing more: the button itself writes the operation into the address.
 */
const REFERENCE_FOR_EVERYBODY = `
  const reference = document.getElementById('reference');
  new MutationObserver(() => {
    const give = (selector, name, value) =>
      reference.querySelectorAll(selector).forEach((element) => element.hasAttribute(name) || element.setAttribute(name, value));
    give('#servers', 'aria-label', 'Server');
    give('textarea', 'aria-label', 'Request body');
    give('.microlight, .example', 'tabindex', '0');
    give('.json-schema-2020-12-accordion:has(> .json-schema-2020-12-accordion__children:empty)', 'aria-label', 'Schema');
    reference.querySelectorAll('[data-param-name] select').forEach((select) => {
      select.setAttribute('aria-label', select.closest('[data-param-name]').dataset.paramName);
    });
    reference.querySelectorAll('.opblock-summary-control a').forEach((link) => link.removeAttribute('href'));
  }).observe(reference, { childList: true, subtree: true });
`;

/** The REST reference: Swagger UI over `/openapi.json`. */
export function docsPage(): HttpAnswer {
  return page(DOCS);
}

const DOCS = Buffer.from(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Workspace gateway: REST reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <style>${REFERENCE_STYLE}</style>
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <main id="reference"></main>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script>${REFERENCE_FOR_EVERYBODY}</script>
    <script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#reference', deepLinking: true, validatorUrl: null });</script>
  </body>
</html>
`);

const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const assets = new Map<string, Promise<Buffer>>();

/** A file of the reference page. @throws NotFoundError for any name but the few it needs. */
export async function docsAsset(name: string): Promise<HttpAnswer> {
  const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (!type) throw notFound('page');
  const content = assets.get(name) ?? readFile(resolve(`swagger-ui-dist/${name}`));
  assets.set(name, content);
  return answerWith(await content, { headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' } });
}
