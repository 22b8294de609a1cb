import type { VNode } from 'preact';
import { useScope } from './caller.ts';
import { HistoryLink } from './history-link.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Addresses } from './mcp-addresses.ts';
import { ToolCalls } from './mcp-tool-calls.ts';
import { Tools } from './mcp-tools.ts';
import { ConnectionActions, ConnectionForms, NEXT_STEPS, STATUS_TEXTS, VISIBLE_TO } from './mcp-connection-actions.ts';
import type { Connection } from './mcp-connection-types.ts';
import { Badge, Empty, Facts, Faults, Loading, PageFrame, Time, personOf, wordsOf } from './parts.ts';

/** One MCP connection: its state, its tools, the configuration of its clients, and the calls of its tools. */

export function McpConnectionPage({ id }: { readonly id: string }): VNode {
  const { data, faults, isLoading, reload } = useQuery('McpServer', { id });
  const mayUse = useScope('MCP_CONNECTIONS_USE');
  const server = data?.mcpServer;
  if (!server) {
    const missing = html`<${Empty}
      >There is no such MCP connection, or it is somebody else's. <a href="/mcp-connections">All MCP connections</a><//
    >`;
    return html`<${PageFrame} title="MCP connection">
      <${Faults} faults=${faults} />
      ${isLoading ? html`<${Loading} />` : faults.length === 0 && missing}
    <//>`;
  }
  const isRemote = server.type === 'REMOTE';
  const actions = html`<${ConnectionActions} server=${server} onDone=${reload} /><${ConnectionForms}
      server=${server}
      onDone=${reload}
    /><${HistoryLink} id=${server.id} />`;
  return html`<${PageFrame} title=${server.name} actions=${actions}>
    <${Faults} faults=${faults} />
    <${Status} server=${server} />
    <${Facts} facts=${factsOf(server)} />
    ${isRemote && html`<${Tools} server=${server} mayUse=${mayUse} onDone=${reload} />`}
    ${isRemote && html`<${Addresses} server=${server} />`} ${isRemote && html`<${ToolCalls} serverId=${server.id} />`}
  <//>`;
}

function Status({ server }: { readonly server: Connection }): VNode {
  const { status, statusReason, nextAction } = server;
  return html`<p class="connection-state">
    <${Badge} value=${status} />${' '}
    ${needsNoAuthorization(server) ? 'The server answers and needs no authorization. Agents can use its tools.' : STATUS_TEXTS[status]}
    ${statusReason && html`<span class="soft"> The reason: ${statusReason}</span>`}
    ${nextAction !== 'NONE' && html` <strong>Next step: ${NEXT_STEPS[nextAction]}.</strong>`}
  </p>`;
}

/** Whether OAuth would be used, but the server has not asked for it. */
function needsNoAuthorization({ authType, status, issuer }: Connection): boolean {
  return authType === 'OAUTH' && status === 'CONNECTED' && issuer === null;
}

function authenticationOf(server: Connection): string | null {
  const { authType } = server;
  if (authType !== 'OAUTH') return authType && wordsOf(authType);
  return needsNoAuthorization(server) ? 'None' : 'OAuth';
}

function factsOf(server: Connection): readonly (readonly [string, unknown])[] {
  const { args, envKeys, headerKeys, grantedScopes } = server;
  return [
    ['Server', server.serverUrl && html`<code>${server.serverUrl}</code>`],
    ['Command', server.command && html`<code>${[server.command, ...(args ?? [])].join(' ')}</code>`],
    ['Environment', envKeys.join(', ')],
    ['Authentication', authenticationOf(server)],
    ['Headers', headerKeys.join(', ')],
    ['Scopes', grantedScopes?.join(' ')],
    ['Authorization server', server.issuer],
    ['Handle', html`<code>${server.handle}</code>`],
    ['Visible to', VISIBLE_TO[server.visibility]],
    ['Created by', personOf(server.owner)],
    ['Checked', html`<${Time} at=${server.lastCheckedAt} />`],
    ['Token expires', server.tokenExpiresAt && html`<${Time} at=${server.tokenExpiresAt} />`],
  ];
}
