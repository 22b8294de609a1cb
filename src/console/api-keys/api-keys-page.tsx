import { useState } from 'preact/hooks';
import { usePeople } from '../members/people.ts';
import { useAdministration, useScope } from '../parts/caller.ts';
import { Rename } from '../parts/dialogs.tsx';
import { CheckField, ChoiceField, Filters, useFilter } from '../parts/filters.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Empty, List, PageFrame, Secret, Time, personOf } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';
import { type Scope, type ScopeText, scopeTexts } from '../parts/scopes.ts';
import { shortTime } from '../parts/time.tsx';
import { CreateKey } from './api-key-forms.tsx';

type Row = NonNullable<Answers['ApiKeys']['viewer']['apiKeys']>['nodes'][number];

const HEAD = ['Key', 'Organization', 'Preview', 'Of', 'Scopes', 'Last used', 'Expires', ''];

export function ApiKeysPage() {
  const mayCreate = useScope('API_KEYS_WRITE');
  const [secret, setSecret] = useState<string>();
  const isAdministrator = useAdministration();
  const owner = useFilter('owner');
  const unbound = useFilter('unbound');
  const filter = { ...(owner[0] && { ownerIds: [owner[0]] }), ...(unbound[0] && { isBound: false }) };
  const list = usePages('ApiKeys', { first: 50, filter }, ({ viewer }) => viewer.apiKeys);
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
  const isFiltered = Object.keys(filter).length > 0;
  const empty = <Empty>{isFiltered ? 'No key matches this filter.' : 'There are no keys that you may see.'}</Empty>;
  return (
    <PageFrame
      title="API keys"
      intro="A key acts for its user or service account. It is shown once, when it is created."
      actions={create}
    >
      {secret !== undefined && <Secret key={secret} label="The new key." value={secret} />}
      {isAdministrator && <KeyFilters owner={owner} unbound={unbound} />}
      <List
        label="API keys"
        list={list}
        row={(key: Row) => rowOf(key, own, textOf, list.reload)}
        empty={empty}
        head={HEAD}
        isDense
      />
    </PageFrame>
  );
}

type Filter = ReturnType<typeof useFilter>;

/** Loads all people, so it is shown to administrators alone. */
function KeyFilters({ owner, unbound }: { readonly owner: Filter; readonly unbound: Filter }) {
  return (
    <Filters>
      <ChoiceField label="Of" value={owner[0]} onChange={owner[1]} choices={[['', 'Anybody'], ...usePeople()]} />
      <CheckField label="In any organization of the person" value={unbound[0]} onChange={unbound[1]} />
    </Filters>
  );
}

type Own = Answers['OwnKey']['viewer'];

function rowOf(key: Row, own: Own | undefined, textOf: (scope: Scope) => ScopeText, onDone: () => void) {
  const isOwn = key.id === own?.apiKey?.id;
  const isMine = own?.user != null && key.owner?.id === own.user.id;
  // Of somebody else it ends for this organization.
  const isOfOther = key.organization === null && !isMine;
  const owner = isMine ? 'you' : personOf(key.owner);
  return (
    <tr key={key.id}>
      <td class="wide" title={`${key.name} (created ${shortTime(new Date(key.createdAt), new Date())})`}>
        <div class="line">
          <strong>{key.name}</strong> {isOwn && <span class="badge">signed in with</span>}
          {key.isBlockedHere && <span class="badge">ended here</span>}
          <span class="soft">
            created <Time at={key.createdAt} isShort />
          </span>
        </div>
      </td>
      <td class="minor" title={key.organization?.name}>
        {isOfOther ? (
          'All of theirs'
        ) : (
          <Reach organization={key.organization} organizations={own?.organizations?.nodes ?? []} />
        )}
      </td>
      <td class="minor">
        <code>{key.preview}</code>
      </td>
      <td title={owner}>{owner}</td>
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
      <td class="minor">{key.lastUsedAt ? <Time at={key.lastUsedAt} isShort /> : 'never'}</td>
      <td class="minor">{key.expiresAt ? <Time at={key.expiresAt} isShort /> : 'never'}</td>
      <td class="end">
        <KeyActions shown={key} isOwn={isOwn} isOfOther={isOfOther} onDone={onDone} />
      </td>
    </tr>
  );
}

interface ActionsProps {
  readonly shown: Row;
  /** Whether the caller is signed in with it. */
  readonly isOwn: boolean;
  readonly isOfOther: boolean;
  readonly onDone: () => void;
}

function KeyActions({ shown, isOwn, isOfOther, onDone }: ActionsProps) {
  const { id, name, isBlockedHere, viewerCanUpdate, viewerCanRevoke } = shown;
  const rename = (next: string) => mutate('RenameApiKey', { id, name: next }, onDone);
  const revoke = () => mutate('RevokeApiKey', { id }, onDone);
  const unblock = () => mutate('UnblockApiKey', { id }, onDone);
  const question = isOfOther
    ? `End “${name}” for this organization? Requests with this key are refused here at once.`
    : isOwn
      ? `Revoke “${name}”? You are signed in with this key and will be signed out.`
      : `Revoke “${name}”? Requests with this key are refused at once.`;
  const isEnded = isOfOther && isBlockedHere;
  const again = `Let “${name}” act in this organization again?`;
  if (!viewerCanUpdate && !viewerCanRevoke) return null;
  return (
    <Menu>
      {viewerCanUpdate && <Rename label="Name of the key" value={name} save={rename} />}
      {isEnded && <Action label="Let act again" confirm={again} run={unblock} />}
      {viewerCanRevoke && !isEnded && <Action label="Revoke" confirm={question} run={revoke} />}
    </Menu>
  );
}

interface ReachProps {
  readonly organization: Row['organization'];
  readonly organizations: readonly { readonly id: string; readonly name: string }[];
}

/** The organizations in which a key of the caller is valid, or one that is bound. */
function Reach({ organization, organizations }: ReachProps) {
  if (organization) return <span>{organization.name}</span>;
  return (
    <details class="scopes">
      <summary>All of yours</summary>
      <ul>
        {organizations.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ul>
    </details>
  );
}
