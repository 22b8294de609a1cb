import type { VNode } from 'preact';
import { run } from './api.ts';
import { refusalOf, usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Badge, Empty, List, PageFrame, Time } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['McpServers']['viewer']['organization']>['mcpServers']>['nodes'][number];

const NEXT: Readonly<Record<string, string>> = {
  NONE: 'Nothing',
  COMPLETE_AUTHORIZATION: 'Complete the authorization',
  AUTHORIZE: 'Authorize it',
  TEST: 'Test it',
  UPDATE: 'Correct its configuration',
};

/** The label of the authorization button. */
const LABEL: Readonly<Record<string, string>> = {
  COMPLETE_AUTHORIZATION: 'Continue authorization',
  AUTHORIZE: 'Authorize',
};

const VISIBLE_TO: Readonly<Record<Row['visibility'], string>> = {
  SHARED: 'The organization',
  PERSONAL: 'Its owner',
};

const COMMAND = `mutation {
  createMcpServer(input: { remote: { name: "docs", serverUrl: "https://mcp.example.com/mcp" } }) {
    ... on CreateMcpServerPayload { mcpServer { status } authorizationUrl }
  }
}`;

export function McpConnectionsPage(): VNode {
  const list = usePages('McpServers', { first: 50 }, ({ viewer }) => viewer.organization?.mcpServers);
  const row = (server: Row) => {
    const authorize = async () => {
      const { data, faults } = await run('AuthorizeMcpServer', { id: server.id });
      const result = data?.authorizeMcpServer;
      if (result?.__typename === 'AuthorizeMcpServerPayload' && result.authorizationUrl !== null)
        location.assign(result.authorizationUrl);
      list.reload();
      return refusalOf(result, faults);
    };
    const test = async () => {
      const { data, faults } = await run('TestMcpServer', { id: server.id });
      list.reload();
      return refusalOf(data?.testMcpServer, faults);
    };
    return html`<tr key=${server.id}>
      <td class="wide">
        <strong>${server.name}</strong>
        <div class="soft"><code>${server.serverUrl ?? server.command}</code></div>
      </td>
      <td>
        <${Badge}
          value=${server.status}
        />${server.statusReason && html`<div class="soft">${server.statusReason}</div>`}
      </td>
      <td>${NEXT[server.nextAction] ?? server.nextAction}</td>
      <td>${VISIBLE_TO[server.visibility]}</td>
      <td><${Time} at=${server.lastCheckedAt} /></td>
      <td class="end">
        <div class="actions">
          ${server.viewerCanAuthorize && server.authType === 'OAUTH' && html`<${Action} label=${LABEL[server.nextAction] ?? 'Authorize again'} isPlain=${!(server.nextAction in LABEL)} run=${authorize} />`}
          ${server.type === 'REMOTE' && html`<${Action} label="Test" run=${test} />`}
        </div>
      </td>
    </tr>`;
  };
  const empty = html`<${Empty} command=${COMMAND}
    >No MCP connections yet. Create one in <a href="/graphql">GraphiQL</a>:<//
  >`;
  return html`<${PageFrame}
    title="MCP connections"
    intro="The servers that agents can use, and whether they can be reached."
  >
    <${List}
      label="MCP connections"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['Connection', 'Status', 'Next step', 'Visible to', 'Checked', '']}
    />
  <//>`;
}
