import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { run } from './api.ts';
import { useScope } from './caller.ts';
import { Rename } from './dialogs.ts';
import { FormButton } from './form-button.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Empty, List, PageFrame, Secret, Time, personOf } from './parts.ts';
import { type Scope, type ScopeText, scopeTexts } from './scopes.ts';

type Row = NonNullable<Answers['ApiKeys']['viewer']['apiKeys']>['nodes'][number];

const HEAD = ['Key', 'Organization', 'Scopes', 'Last used', 'Expires', ''];

const CREATE = async () => (await import('./api-key-forms.ts')).CreateKey;

export function ApiKeysPage(): VNode {
  const mayCreate = useScope('API_KEYS_WRITE');
  const [secret, setSecret] = useState<string>();
  const list = usePages('ApiKeys', { first: 50 }, ({ viewer }) => viewer.apiKeys);
  const { data } = useQuery('OwnKey', {});
  const own = data?.viewer;
  const textOf = scopeTexts(data?.__type);
  const onCreated = (key: string) => {
    setSecret(key);
    list.reload();
  };
  const create =
    own &&
    mayCreate &&
    html`<${FormButton}
      label="New API key"
      isPlain=${false}
      load=${CREATE}
      props=${{ caller: own.apiKey, textOf, onCreated }}
    />`;
  const empty = html`<${Empty}>There are no keys that you may see.<//>`;
  return html`<${PageFrame}
    title="API keys"
    intro="A key acts for its user or service account. It is shown once, when it is created."
    actions=${create}
  >
    ${secret !== undefined && html`<${Secret} key=${secret} label="The new key." value=${secret} />`}
    <${List}
      label="API keys"
      list=${list}
      row=${(key: Row) => rowOf(key, own, textOf, list.reload)}
      empty=${empty}
      head=${HEAD}
    />
  <//>`;
}

type Own = Answers['OwnKey']['viewer'];

function rowOf(key: Row, own: Own | undefined, textOf: (scope: Scope) => ScopeText, onDone: () => void): VNode {
  const isOwn = key.id === own?.apiKey?.id;
  const revoke = async () => {
    const { data, faults } = await run('RevokeApiKey', { id: key.id });
    onDone();
    return refusalOf(data?.revokeApiKey, faults);
  };
  const rename = async (name: string) => {
    const { data, faults } = await run('RenameApiKey', { id: key.id, name });
    onDone();
    return refusalOf(data?.renameApiKey, faults);
  };
  const question = isOwn
    ? `Revoke “${key.name}”? You are signed in with this key and will be signed out.`
    : `Revoke “${key.name}”? Requests with this key are refused at once.`;
  return html`<tr key=${key.id}>
    <td class="wide">
      <strong>${key.name}</strong>${isOwn && html` <span class="badge">signed in with</span>`}
      <div class="soft">
        <code>${key.preview}</code> of ${own?.user && key.owner?.id === own.user.id ? 'you' : personOf(key.owner)}
      </div>
      <div class="soft">created <${Time} at=${key.createdAt} /></div>
    </td>
    <td class="wrap"><${Reach} organization=${key.organization} organizations=${own?.organizations?.nodes ?? []} /></td>
    <td>
      <details class="scopes">
        <summary>${key.scopes.length === 1 ? '1 scope' : `${key.scopes.length} scopes`}</summary>
        <ul>
          ${key.scopes.map((scope) => html`<li key=${scope}><code>${textOf(scope).name}</code></li>`)}
        </ul>
      </details>
    </td>
    <td class="wrap">${key.lastUsedAt ? html`<${Time} at=${key.lastUsedAt} />` : 'never'}</td>
    <td class="wrap">${key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : 'never'}</td>
    <td class="end">
      <div class="actions">
        ${key.viewerCanUpdate && html`<${Rename} label="Name of the key" value=${key.name} save=${rename} />`}
        ${key.viewerCanRevoke && html`<${Action} label="Revoke" confirm=${question} run=${revoke} />`}
      </div>
    </td>
  </tr>`;
}

interface ReachProps {
  readonly organization: Row['organization'];
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

/**
 * The organizations in which a key is valid. All unbound keys that are shown belong to the caller, so they are valid in the caller's
 * organizations.
 */
function Reach({ organization, organizations }: ReachProps): VNode {
  if (organization) return html`<span>${organization.name}</span>`;
  return html`<details class="scopes">
    <summary>All your organizations</summary>
    <ul>
      ${organizations.map(({ id, name }) => html`<li key=${id}>${name}</li>`)}
    </ul>
  </details>`;
}
