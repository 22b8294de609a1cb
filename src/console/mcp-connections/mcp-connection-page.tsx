import { useScope } from '../parts/caller.ts';
import { HistoryLink } from '../audit-log/history-link.tsx';
import { useFollowing, useQuery } from '../parts/hooks.ts';
import { Addresses, CommandLines } from './mcp-addresses.tsx';
import { ToolCalls } from './mcp-tool-calls.tsx';
import { Tools } from './mcp-tools.tsx';
import { ConnectionActions, ConnectionForms, NEXT_STEPS, STATUS_TEXTS, VISIBLE_TO } from './mcp-connection-actions.tsx';
import type { Connection } from './mcp-connection-types.ts';
import { Badge, type Fact, Facts, Faults, PageFrame, Time, personOf, wordsOf, Missing } from '../parts/parts.tsx';

/** One MCP connection: its state, its tools, the configuration of its clients, and the calls of its tools. */

export function McpConnectionPage({ id }: { readonly id: string }) {
  const query = useQuery('McpServer', { id });
  const { data, faults, reload } = query;
  const mayUse = useScope('MCP_CONNECTIONS_USE');
  useFollowing(reload, query.isLoading);
  const server = data?.mcpServer;
  if (!server) {
    return (
      <Missing title="MCP connection" query={query}>
        There is no such MCP connection, or it is somebody else's. <a href="/mcp-connections">All MCP connections</a>
      </Missing>
    );
  }
  const isRemote = server.type === 'REMOTE';
  const actions = (
    <>
      <ConnectionActions server={server} onDone={reload} />
      <ConnectionForms server={server} onDone={reload} />
      <HistoryLink id={server.id} />
    </>
  );
  return (
    <PageFrame title={server.name} actions={actions}>
      <Faults faults={faults} />
      <Status server={server} />
      <Facts facts={factsOf(server)} />
      {isRemote && <Tools server={server} mayUse={mayUse} onDone={reload} />}
      {isRemote ? <Addresses server={server} /> : <CommandLines server={server} />}
      {isRemote && <ToolCalls serverId={server.id} />}
    </PageFrame>
  );
}

function Status({ server }: { readonly server: Connection }) {
  const { status, statusReason, nextAction } = server;
  return (
    <p class="connection-state">
      <Badge value={status} />{' '}
      {needsNoAuthorization(server)
        ? 'The server answers and needs no authorization. Agents can use its tools.'
        : STATUS_TEXTS[status]}
      {statusReason && <span class="soft"> The reason: {statusReason}</span>}{' '}
      {nextAction !== 'NONE' && <strong>Next step: {NEXT_STEPS[nextAction]}.</strong>}
    </p>
  );
}

/** Whether OAuth would be used, but the server has not asked for it. */
const needsNoAuthorization = ({ authType, status, issuer }: Connection): boolean =>
  authType === 'OAUTH' && status === 'CONNECTED' && issuer === null;

function authenticationOf(server: Connection): string | null {
  const { authType } = server;
  if (authType !== 'OAUTH') return authType && wordsOf(authType);
  return needsNoAuthorization(server) ? 'None' : 'OAuth';
}

function factsOf(server: Connection): readonly Fact[] {
  const { args, envKeys, headerKeys, grantedScopes } = server;
  return [
    ['Server', server.serverUrl && <code>{server.serverUrl}</code>],
    ['Command', server.command && <code>{[server.command, ...(args ?? [])].join(' ')}</code>],
    ['Environment', envKeys.join(', ')],
    ['Authentication', authenticationOf(server)],
    ['Headers', headerKeys.join(', ')],
    ['Scopes', grantedScopes?.join(' ')],
    ['Authorization server', server.issuer],
    ['Handle', <code>{server.handle}</code>],
    ['Visible to', VISIBLE_TO[server.visibility]],
    ['Created by', personOf(server.ownedBy)],
    ['Checked', <Time at={server.lastCheckedAt} />],
    ['Token expires', server.tokenExpiresAt && <Time at={server.tokenExpiresAt} />],
  ];
}
