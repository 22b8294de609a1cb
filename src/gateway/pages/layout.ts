import { escapeHtml } from '../../core/http/html-page.ts';
import { BASE_STYLE, FAVICON } from './files.ts';

/** The HTML frame of all pages. `body` is HTML, in which text of users must be escaped. */
export function layout({
  title,
  body,
  head = '',
  bodyClass = '',
}: {
  readonly title: string;
  readonly body: string;
  readonly head?: string;
  readonly bodyClass?: string;
}): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" href="${FAVICON}" type="image/svg+xml">
    <link rel="stylesheet" href="${BASE_STYLE}">
    ${head}
  </head>
  <body${bodyClass && ` class="${bodyClass}"`}>
${body}
  </body>
</html>
`;
}

/** A page with one card in the middle, for sign-in and errors. */
export function smallPage(title: string, card: string, head = ''): string {
  const body = `<main>
      <a class="brand" href="/"><img src="${FAVICON}" alt="" width="28" height="28">Workspace gateway</a>
      <div class="card">
${card}
      </div>
    </main>`;
  return layout({ title: `${title} – Workspace gateway`, head, body, bodyClass: 'small-page' });
}
