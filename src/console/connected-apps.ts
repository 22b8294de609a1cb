import type { VNode } from 'preact';
import { run } from './api.ts';
import { useScope } from './caller.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Empty, List, Time } from './parts.ts';
import { scopeTexts } from './scopes.ts';

type App = NonNullable<Answers['ConnectedApps']['viewer']['connectedApps']>['nodes'][number];

/** The clients that this person has given access to an address of the gateway. */
export function ConnectedApps(): VNode {
  const list = usePages('ConnectedApps', { first: 20 }, ({ viewer }) => viewer.connectedApps);
  const textOf = scopeTexts(useQuery('OwnKey', {}).data?.__type);
  const mayRevoke = useScope('API_KEYS_WRITE');
  const row = ({ id, clientName, clientHost, resource, scopes, organization, createdAt, lastUsedAt }: App) => {
    const revoke = async () => {
      const { data, faults } = await run('RevokeConnectedApp', { id });
      list.reload();
      return refusalOf(data?.revokeConnectedApp, faults);
    };
    return html`<tr key=${id}>
      <td class="wide">
        ${clientName}
        <div class="soft">${clientHost ?? 'not published by a host'}</div>
      </td>
      <td class="wide">
        ${resource}
        <div class="soft">${scopes.map((scope) => textOf(scope).name).join(', ')}</div>
      </td>
      <td>${organization?.name}</td>
      <td><${Time} at=${createdAt} /></td>
      <td>${lastUsedAt !== null && html`<${Time} at=${lastUsedAt} />`}</td>
      <td class="end">${mayRevoke && html`<${Action} label="Revoke" run=${revoke} />`}</td>
    </tr>`;
  };
  return html`<h2>Connected apps</h2>
    <${List}
      label="Connected apps"
      list=${list}
      row=${row}
      empty=${html`<${Empty}
        >No app is connected. The page of an <a href="/mcp-connections">MCP connection</a> says how to connect one.<//
      >`}
      head=${['App', 'Address', 'Organization', 'Since', 'Last used', '']}
    />`;
}
