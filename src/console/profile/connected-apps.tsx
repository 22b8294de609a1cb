import { useScope } from '../parts/caller.ts';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Empty, List, Time, TimeCell } from '../parts/parts.tsx';
import { scopeTexts } from '../parts/scopes.ts';

type App = NonNullable<Answers['ConnectedApps']['viewer']['connectedApps']>['nodes'][number];

/** The clients that this person has given access to an address of the gateway. */
export function ConnectedApps() {
  const list = usePages('ConnectedApps', { first: 20 }, ({ viewer }) => viewer.connectedApps);
  const textOf = scopeTexts(useQuery('OwnKey', {}).data?.__type);
  const mayRevoke = useScope('API_KEYS_WRITE');
  const row = ({ id, clientName, clientHost, resource, scopes, organization, createdAt, lastUsedAt }: App) => {
    const revoke = () => mutate('RevokeConnectedApp', { id }, list.reload);
    return (
      <tr key={id}>
        <td class="wide">
          {clientName}
          <div class="soft">{clientHost ?? 'described at this gateway only'}</div>
        </td>
        <td class="wide">
          {resource}
          <div class="soft">{scopes.map((scope) => textOf(scope).name).join(', ')}</div>
        </td>
        <td>{organization?.name}</td>
        <TimeCell at={createdAt} />
        <td>{lastUsedAt !== null && <Time at={lastUsedAt} />}</td>
        <td class="end">{mayRevoke && <Action label="Revoke" run={revoke} />}</td>
      </tr>
    );
  };
  return (
    <>
      <h2>Connected apps</h2>
      <List
        label="Connected apps"
        list={list}
        row={row}
        empty={
          <Empty>
            No app is connected. The page of an <a href="/mcp-connections">MCP connection</a> says how to connect one.
          </Empty>
        }
        head={['App', 'Address', 'Organization', 'Since', 'Last used', '']}
      />
    </>
  );
}
