import type { VNode } from 'preact';
import { run } from './api.ts';
import { CreateKey } from './create-key.ts';
import { Rename } from './dialogs.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Empty, List, PageFrame, Time, personOf } from './parts.ts';

type Row = NonNullable<Answers['ApiKeys']['viewer']['apiKeys']>['nodes'][number];

const HEAD = ['Key', 'Organization', 'Scopes', 'Last used', 'Expires', ''];

export function ApiKeysPage(): VNode {
  const list = usePages('ApiKeys', { first: 50 }, ({ viewer }) => viewer.apiKeys);
  const own = useQuery('OwnKey', {}).data?.viewer;
  const caller = own?.apiKey;
  const empty = html`<${Empty}>There are no keys that you may see.<//>`;
  return html`<${PageFrame} title="API keys" intro="A key acts for its user. It is shown once, when it is created.">
    ${caller && html`<${CreateKey} scopes=${caller.scopes} onCreated=${list.reload} />`}
    <${List}
      label="API keys"
      list=${list}
      row=${(key: Row) => rowOf(key, own, list.reload)}
      empty=${empty}
      head=${HEAD}
    />
  <//>`;
}

type Own = Answers['OwnKey']['viewer'];

function rowOf(key: Row, own: Own | undefined, onDone: () => void): VNode {
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
        <code>${key.preview}</code>${key.user?.id !== own?.user.id && html` of ${personOf(key.user)}`}
      </div>
    </td>
    <td><${Reach} organization=${key.organization} organizations=${own?.organizations?.nodes ?? []} /></td>
    <td>
      <details class="scopes">
        <summary>${key.scopes.length === 1 ? '1 scope' : `${key.scopes.length} scopes`}</summary>
        <ul>
          ${key.scopes.map((scope) => html`<li key=${scope}><code>${scope.toLowerCase()}</code></li>`)}
        </ul>
      </details>
    </td>
    <td><${Time} at=${key.lastUsedAt} /></td>
    <td>${key.expiresAt ? html`<${Time} at=${key.expiresAt} />` : 'never'}</td>
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
