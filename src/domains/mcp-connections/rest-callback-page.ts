import { createHash } from 'node:crypto';
import { answerHtml, escapeHtml } from '../../core/http/html-page.ts';
import type { HttpAnswer } from '../../core/http/messages.ts';
import type { CallbackAnswer } from './authorization/confirmation.ts';
import type { CallbackResult } from './authorization/completion.ts';
import { CALLBACK_PATH } from './authorization/client.ts';
import { styledPagePolicy } from '../../core/http/content-security-policy.ts';

/** HTML pages for the end of an authorization. They load nothing, run no script, and show nothing from the URL that was opened but the reason that the authorization server gives, quoted and cut. */

const STYLE = `
:root{color-scheme:light dark;--page:#f3f4f6;--card:#fff;--text:#1c2128;--soft:#57606a;--line:#d8dee4;--mark:#1a7f37}
.failed{--mark:#b42318}
.asking{--mark:#1f5fa8}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--page);color:var(--text);font:16px/1.55 system-ui,sans-serif}
main{width:100%;max-width:34rem;padding:2.25rem 2.5rem;background:var(--card);border:1px solid var(--line);border-top:4px solid var(--mark);border-radius:10px}
h1{display:flex;align-items:center;gap:.7rem;margin:0 0 1rem;font-size:1.45rem;line-height:1.25}
.mark{flex:none;display:grid;place-items:center;width:2rem;height:2rem;border-radius:50%;background:var(--mark);color:#fff;font-size:1.1rem}
p{margin:.75rem 0 0;overflow-wrap:anywhere}
.next{margin-top:1.5rem;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft)}
dl{display:grid;grid-template-columns:auto 1fr;gap:.35rem 1.25rem;margin:1.25rem 0 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
form{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.75rem}
button{padding:.6rem 1.25rem;border:1px solid var(--mark);border-radius:6px;background:var(--mark);color:#fff;font:inherit;cursor:pointer}
button.plain{border-color:var(--line);background:none;color:inherit}
button:focus-visible{outline:3px solid var(--mark);outline-offset:2px}
a{color:inherit}
code{display:inline-block;font:.86em ui-monospace,monospace}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--card:#161b22;--text:#e6edf3;--soft:#9ea7b3;--line:#30363d;--mark:#238636}.failed{--mark:#d1372a}.asking{--mark:#2f6fbb}}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const policyFor = (formAction: "'none'" | "'self'") => ({
  'Content-Security-Policy': styledPagePolicy(STYLE_HASH, formAction),
});

const pageOf = (title: string, mark: string, card: string, className = ''): string => `<!doctype html>
<html lang="en"${className && ` class="${className}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1><span class="mark" aria-hidden="true">${mark}</span>${title}</h1>
${card}
</main>
</body>
</html>
`;

export function callbackPage(result: CallbackResult): HttpAnswer {
  const isConnected = result.kind === 'connected';
  const card = `<p>${escapeHtml(sayWhat(result))}</p>
<p class="next">${isConnected ? GO_ON : TRY_AGAIN}</p>`;
  const html = pageOf(titleOf(result), isConnected ? '✓' : '!', card, isConnected ? '' : 'failed');
  return answerHtml(html, { status: isConnected ? 200 : 400, headers: policyFor("'none'") });
}

/** The confirmation page. Its form is posted to the URL of the page. */
export function confirmationPage({
  asked,
  confirmation,
}: Extract<CallbackAnswer, { kind: 'unconfirmed' }>): HttpAnswer {
  const facts = [
    ['Organization', asked.organization],
    ['Connection', asked.connection],
    ['MCP server', asked.server],
    ['Requested by', asked.user],
    ...(asked.userName === null ? [] : [['Named', asked.userName]]),
  ];
  const card = `<p>Your access will be stored on this connection. Continue only if you requested this yourself.</p>
<dl>
${facts.map(([term = '', value = '']) => `<dt>${term}</dt><dd>${escapeHtml(value)}</dd>`).join('\n')}
</dl>
<form method="post" action="${CALLBACK_PATH}">
<input type="hidden" name="confirmation" value="${escapeHtml(confirmation)}">
<button name="decision" value="connect">Connect</button>
<button class="plain" name="decision" value="decline">Do not connect</button>
</form>`;
  return answerHtml(pageOf('Is this your connection?', '?', card, 'asking'), { headers: policyFor("'self'") });
}

const GO_ON = 'Continue with <a href="/mcp-connections">MCP connections</a>.';
const TRY_AGAIN =
  'To try again, authorize it under <a href="/mcp-connections">MCP connections</a>, or call <code>authorizeMcpServer</code> or <code>POST /v1/mcp-connections/{id}/authorize</code> and open the new address.';

/** The title says nothing about the connection when the state is unknown, because the authorization may have been completed already. */
function titleOf(result: CallbackResult): string {
  if (result.kind === 'connected') return 'Connected';
  return result.name === null ? 'Nothing to complete' : 'Not connected';
}

function sayWhat(result: CallbackResult): string {
  if (result.kind === 'connected') return `The MCP connection “${result.name}” is connected.`;
  return result.name === null
    ? result.reason
    : `The MCP connection “${result.name}” was not connected: ${result.reason}.`;
}
