import { useState } from 'preact/hooks';
import { useScope } from '../parts/caller.ts';
import { Rename } from '../parts/dialogs.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import type { Content } from '../parts/markup.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, List, type Role, Secret, TimeCell, roleName } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';
import { scopeTexts } from '../parts/scopes.ts';
import { NameCell } from './name-cell.tsx';
import { RoleActions } from './role-actions.tsx';
import { CreateServiceAccount } from './service-account-forms.tsx';
import { CreateKey } from '../api-keys/api-key-forms.tsx';

type Organization = NonNullable<Answers['ServiceAccounts']['viewer']['organization']>;
type Row = NonNullable<Organization['serviceAccounts']>['nodes'][number];

const HEAD = ['Service account', 'Role', 'Created', ''];

/** The accounts of programs, which administrators manage. */
export function ServiceAccounts() {
  const list = usePages('ServiceAccounts', { first: 100 }, ({ viewer }) => viewer.organization?.serviceAccounts);
  const mayCreateKeys = useScope('API_KEYS_WRITE');
  const { data } = useQuery('OwnKey', {});
  const [made, setMade] = useState<{ readonly name: string; readonly key: string }>();
  const newKey = (account: Row) => {
    if (!data?.viewer.apiKey || !mayCreateKeys) return null;
    const onCreated = (key: string) => setMade({ name: account.name, key });
    const props = { caller: data.viewer.apiKey, textOf: scopeTexts(data.__type), serviceAccount: account, onCreated };
    return <FormButton label="New API key" dialog={CreateKey} props={props} />;
  };
  return (
    <div>
      <div class="section-head">
        <h2>Service accounts</h2>
        <FormButton label="New service account" dialog={CreateServiceAccount} props={{ onDone: list.reload }} />
      </div>
      <p class="soft">
        Accounts for programs, such as a CI. They have API keys, are no members, and stay when the people who made them
        leave.
      </p>
      {made && <Secret key={made.key} label={`The new key of ${made.name}.`} value={made.key} />}
      <List
        label="Service accounts"
        list={list}
        row={(account: Row) => rowOf(account, newKey(account), list.reload)}
        empty="There are no service accounts yet."
        head={HEAD}
        isDense
      />
    </div>
  );
}

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  ADMIN: 'Its keys can then do what administrators can do, as far as their scopes allow.',
  MEMBER: 'Its keys can then do what members can do.',
  VIEWER: 'Its keys can then only read.',
};

function rowOf(account: Row, newKey: Content, onDone: () => void) {
  const { id, name, role, createdAt } = account;
  const update = (changes: { readonly name?: string; readonly role?: Role }) =>
    mutate('UpdateServiceAccount', { input: { serviceAccountId: id, ...changes } }, onDone);
  const remove = () => mutate('DeleteServiceAccount', { id }, onDone);
  const question = `Delete “${name}”? Its keys stop working at once. Its sessions stay.`;
  return (
    <tr key={id}>
      <NameCell name={name} />
      <td>{roleName(role)}</td>
      <TimeCell at={createdAt} isShort />
      <td class="end">
        <Menu>
          {newKey}
          <Rename label="Name of the service account" value={name} save={(given: string) => update({ name: given })} />
          <RoleActions role={role} name={name} meanings={ROLE_MEANINGS} change={(other) => update({ role: other })} />
          <div class="apart">
            <Action label="Delete" confirm={question} run={remove} />
          </div>
        </Menu>
      </td>
    </tr>
  );
}
