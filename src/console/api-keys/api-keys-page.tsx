import { useState } from 'preact/hooks';
import { useScope } from '../parts/caller.ts';
import { Rename } from '../parts/dialogs.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Empty, List, PageFrame, Secret, Time, personOf } from '../parts/parts.tsx';
import { type Scope, type ScopeText, scopeTexts } from '../parts/scopes.ts';
import { CreateKey } from './api-key-forms.tsx';

type Row = NonNullable<Answers['ApiKeys']['viewer']['apiKeys']>['nodes'][number];

const HEAD = ['Key', 'Organization', 'Scopes', 'Last used', 'Expires', ''];

export function ApiKeysPage() {
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
  const create = own && mayCreate && (
    <FormButton
      label="New API key"
      isPlain={false}
      dialog={CreateKey}
      props={{ caller: own.apiKey, textOf, onCreated }}
    />
  );
  const empty = <Empty>There are no keys that you may see.</Empty>;
  return (
    <PageFrame
      title="API keys"
      intro="A key acts for its user or service account. It is shown once, when it is created."
      actions={create}
    >
      {secret !== undefined && <Secret key={secret} label="The new key." value={secret} />}
      <List
        label="API keys"
        list={list}
        row={(key: Row) => rowOf(key, own, textOf, list.reload)}
        empty={empty}
        head={HEAD}
      />
    </PageFrame>
  );
}

type Own = Answers['OwnKey']['viewer'];

function rowOf(key: Row, own: Own | undefined, textOf: (scope: Scope) => ScopeText, onDone: () => void) {
  const isOwn = key.id === own?.apiKey?.id;
  const revoke = () => mutate('RevokeApiKey', { id: key.id }, onDone);
  const rename = (name: string) => mutate('RenameApiKey', { id: key.id, name }, onDone);
  const question = isOwn
    ? `Revoke “${key.name}”? You are signed in with this key and will be signed out.`
    : `Revoke “${key.name}”? Requests with this key are refused at once.`;
  return (
    <tr key={key.id}>
      <td class="wide">
        <strong>{key.name}</strong> {isOwn && <span class="badge">signed in with</span>}
        <div class="soft">
          <code>{key.preview}</code> of {own?.user && key.owner?.id === own.user.id ? 'you' : personOf(key.owner)}
        </div>
        <div class="soft">
          created <Time at={key.createdAt} />
        </div>
      </td>
      <td class="wrap">
        <Reach organization={key.organization} organizations={own?.organizations?.nodes ?? []} />
      </td>
      <td>
        <details class="scopes">
          <summary>{key.scopes.length === 1 ? '1 scope' : `${key.scopes.length} scopes`}</summary>
          <ul>
            {key.scopes.map((scope) => (
              <li key={scope}>
                <code>{textOf(scope).name}</code>
              </li>
            ))}
          </ul>
        </details>
      </td>
      <td class="wrap">{key.lastUsedAt ? <Time at={key.lastUsedAt} /> : 'never'}</td>
      <td class="wrap">{key.expiresAt ? <Time at={key.expiresAt} /> : 'never'}</td>
      <td class="end">
        <div class="actions">
          {key.viewerCanUpdate && <Rename label="Name of the key" value={key.name} save={rename} />}
          {key.viewerCanRevoke && <Action label="Revoke" confirm={question} run={revoke} />}
        </div>
      </td>
    </tr>
  );
}

interface ReachProps {
  readonly organization: Row['organization'];
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

/**
 * The organizations in which a key is valid. All unbound keys that are shown belong to the caller, so they are valid in the caller's
 * organizations.
 */
function Reach({ organization, organizations }: ReachProps) {
  if (organization) return <span>{organization.name}</span>;
  return (
    <details class="scopes">
      <summary>All your organizations</summary>
      <ul>
        {organizations.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
    </details>
  );
}
