import { createHash } from 'node:crypto';
import { type HttpAnswer, answerWith } from '../../core/http.ts';
import type { CallbackResult } from './authorization.ts';

/** The page at the end of an authorization, for a browser: it loads nothing, runs nothing, and repeats nothing of the address it was opened with. */

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem;color:#1c2128;background:#fff}h1{font-size:1.4rem}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}}`;

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'Cache-Control': 'no-store',
};

export function callbackPage(result: CallbackResult): HttpAnswer {
  const isConnected = result.kind === 'connected';
  const title = isConnected ? 'Connected' : 'Not connected';
  const text = isConnected
    ? [`The MCP connection “${result.name}” is connected.`, 'You can close this window.']
    : [
        result.name === null
          ? result.reason
          : `The MCP connection “${result.name}” was not connected: ${result.reason}.`,
        'Begin again with “authorize” where you manage the connection (POST /v1/mcp-connections/{id}/authorize, or authorizeMcpServer), and open the new address.',
      ];
  const body = text.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n');
  const html = `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${title}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n<h1>${title}</h1>\n${body}\n</body>\n</html>\n`;
  return answerWith(html, { status: isConnected ? 200 : 400, headers: HEADERS });
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
