import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { run } from './api.ts';
import { useScope } from './caller.ts';
import { Rename } from './dialogs.ts';
import { FormButton } from './form-button.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Empty, List, Secret, Time, roleName } from './parts.ts';
import { scopeTexts } from './scopes.ts';

type Organization = NonNullable<Answers['ServiceAccounts']['viewer']['organization']>;
type Row = NonNullable<Organization['serviceAccounts']>['nodes'][number];

const HEAD = ['Service account', 'Role', 'Created', ''];
const CREATE = async () => (await import('./service-account-forms.ts')).CreateServiceAccount;
const CREATE_KEY = async () => (await import('./api-key-forms.ts')).CreateKey;

/** The accounts of programs, which administrators manage. */
export function ServiceAccounts(): VNode {
  const list = usePages('ServiceAccounts', { first: 100 }, ({ viewer }) => viewer.organization?.serviceAccounts);
  const mayCreateKeys = useScope('API_KEYS_WRITE');
  const { data } = useQuery('OwnKey', {});
  const [made, setMade] = useState<{ readonly name: string; readonly key: string }>();
  const keyForm = (account: Row) =>
    data?.viewer.apiKey &&
    mayCreateKeys && {
      caller: data.viewer.apiKey,
      textOf: scopeTexts(data.__type),
      serviceAccount: account,
      onCreated: (key: string) => setMade({ name: account.name, key }),
    };
  return html`<div>
    <div class="section-head">
      <h2>Service accounts</h2>
      <${FormButton} label="New service account" load=${CREATE} props=${{ onDone: list.reload }} />
    </div>
    <p class="soft">
      Accounts for programs, such as a CI. They have API keys, are no members, and stay when the people who made them
      leave.
    </p>
    ${made && html`<${Secret} key=${made.key} label=${`The new key of ${made.name}.`} value=${made.key} />`}
    <${List}
      label="Service accounts"
      list=${list}
      row=${(account: Row) => rowOf(account, keyForm(account), list.reload)}
      empty=${html`<${Empty}>There are no service accounts yet.<//>`}
      head=${HEAD}
    />
  </div>`;
}

const ROLE_QUESTIONS: Readonly<Record<Row['role'], (name: string) => string>> = {
  ADMIN: (name) =>
    `Make “${name}” an administrator? Its keys can then do what administrators can do, as far as their scopes allow.`,
  MEMBER: (name) => `Make “${name}” a member? Its keys can then no longer do what only administrators can do.`,
};

function rowOf(account: Row, keyForm: object | false | null | undefined, onDone: () => void): VNode {
  const { id, name, role, createdAt } = account;
  const other = role === 'ADMIN' ? 'MEMBER' : 'ADMIN';
  const update = async (changes: { readonly name?: string; readonly role?: Row['role'] }) => {
    const { data, faults } = await run('UpdateServiceAccount', { input: { serviceAccountId: id, ...changes } });
    onDone();
    return refusalOf(data?.updateServiceAccount, faults);
  };
  const remove = async () => {
    const { data, faults } = await run('DeleteServiceAccount', { id });
    onDone();
    return refusalOf(data?.deleteServiceAccount, faults);
  };
  const question = `Delete “${name}”? Its keys stop working at once. Its sessions stay.`;
  return html`<tr key=${id}>
    <td class="wide"><strong>${name}</strong></td>
    <td>${roleName(role)}</td>
    <td><${Time} at=${createdAt} /></td>
    <td class="end">
      <div class="actions">
        ${keyForm && html`<${FormButton} label="New API key" load=${CREATE_KEY} props=${keyForm} />`}
        <${Rename}
          label="Name of the service account"
          value=${name}
          save=${(given: string) => update({ name: given })}
        />
        <${Action}
          label=${`Make ${roleName(other).toLowerCase()}`}
          confirm=${ROLE_QUESTIONS[other](name)}
          run=${() => update({ role: other })}
        />
        <${Action} label="Delete" confirm=${question} run=${remove} />
      </div>
    </td>
  </tr>`;
}
