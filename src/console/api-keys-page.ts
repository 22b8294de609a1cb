import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { run } from './api.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Empty, List, PageFrame, Secret, Time } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['ApiKeys']['viewer']['organization']>['apiKeys']>['nodes'][number];

export function ApiKeysPage(): VNode {
  const list = usePages('ApiKeys', { first: 50 }, ({ viewer }) => viewer.organization?.apiKeys);
  const own = useQuery('OwnScopes', {});
  const scopes = own.data?.viewer.apiKey?.scopes ?? [];
  const row = (key: Row) => {
    const revoke = async () => {
      const { data, faults } = await run('RevokeApiKey', { id: key.id });
      list.reload();
      return refusalOf(data?.revokeApiKey, faults);
    };
    return html`<tr key=${key.id}>
      <td class="wide">
        <strong>${key.name}</strong>
        <div class="soft"><code>${key.preview}</code></div>
      </td>
      <td title=${key.scopes.join(', ')}>${key.scopes.length} scopes</td>
      <td><${Time} at=${key.lastUsedAt} /></td>
      <td>${key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : 'never'}</td>
      <td>
        ${key.viewerCanRevoke && html`<${Action} label="Revoke" confirm=${`Revoke “${key.name}”? Whoever uses it is refused at once.`} run=${revoke} />`}
      </td>
    </tr>`;
  };
  const empty = html`<${Empty}>No keys that you may see.<//>`;
  return html`<${PageFrame} title="API keys" intro="A key acts for its user. It is shown once, when it is created.">
    <${CreateKey} scopes=${scopes} onCreated=${list.reload} />
    <${List}
      label="API keys"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['Key', 'May do', 'Last used', 'Expires', '']}
    />
  <//>`;
}

type ScopeName = Row['scopes'][number];

function CreateKey({
  scopes,
  onCreated,
}: {
  readonly scopes: readonly ScopeName[];
  readonly onCreated: () => void;
}): VNode {
  const [name, setName] = useState('');
  const [made, setMade] = useState<string>();
  const create = async () => {
    const { data, faults } = await run('CreateApiKey', { name, scopes: [...scopes] });
    const result = data?.createApiKey;
    if (result?.__typename === 'CreateApiKeyPayload') {
      setMade(result.key);
      setName('');
      onCreated();
    }
    return refusalOf(result, faults);
  };
  return html`<div class="panel">
    <form class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
      <label
        >Name of a new key
        <input
          required
          value=${name}
          onInput=${(event: InputEvent) => setName((event.target as HTMLInputElement).value)}
      /></label>
      <${Action} label="Create key" isPlain=${false} run=${create} />
    </form>
    <p class="soft">It may do what the key that you signed in with may do, in this organization.</p>
    ${made !== undefined && html`<${Secret} label="The new key." value=${made} />`}
  </div>`;
}
