import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { run } from './api.ts';
import { ChoiceField } from './filters.ts';
import { refusalOf, usePages } from './hooks.ts';
import { html, valueOf } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Faults, List, ROLES, Secret, Time, roleName } from './parts.ts';

type Row = NonNullable<NonNullable<Answers['Invitations']['viewer']['organization']>['invitations']>['nodes'][number];

const HEAD = ['Invited', 'Role', 'By', 'Expires', ''];

/** The form with which administrators invite people, and the open invitations, which are loaded again when somebody has joined. */
export function Invitations({ joinings }: { readonly joinings: number }): VNode {
  const list = usePages('Invitations', { first: 100 }, ({ viewer }) => viewer.organization?.invitations);
  useEffect(() => {
    if (joinings > 0) list.reload();
  }, [joinings]);
  return html`<div>
    <${Invite} onDone=${list.reload} />
    ${list.rows.length === 0 && html`<${Faults} faults=${list.faults} />`}
    ${
      list.rows.length > 0 &&
      html`<h2>Open invitations</h2>
        <${List} label="Open invitations" list=${list} row=${(row: Row) => rowOf(row, list.reload)} head=${HEAD} />
        <h2>Members</h2>`
    }
  </div>`;
}

function Invite({ onDone }: { readonly onDone: () => void }): VNode {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<string>('MEMBER');
  const [made, setMade] = useState<{ readonly email: string; readonly token: string }>();
  const [fault, setFault] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const { data, faults } = await run('Invite', { email, role: role === 'ADMIN' ? 'ADMIN' : 'MEMBER' });
    const result = data?.inviteOrganizationMember;
    if (result?.__typename === 'InviteOrganizationMemberPayload') {
      setMade({ email, token: result.token });
      setEmail('');
      onDone();
    }
    setFault(refusalOf(result, faults));
  };
  return html`<section class="panel" aria-labelledby="invite">
    <h2 id="invite">Invite somebody</h2>
    <form class="filters" onSubmit=${submit}>
      <label
        >E-mail address
        <input type="email" required value=${email} onInput=${(event: Event) => setEmail(valueOf(event))}
      /></label>
      <${ChoiceField} label="Role" value=${role} onChange=${setRole} choices=${ROLES} />
      <button class="button small">Invite</button>
    </form>
    ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      made &&
      html`<${Secret}
        key=${made.token}
        label=${`The link for ${made.email}. It is valid for 7 days. No e-mail was sent: pass the link on.`}
        value=${`${location.origin}/invitations/accept#${made.token}`}
      />`
    }
  </section>`;
}

function rowOf({ id, email, role, invitedBy, expiresAt, viewerCanRevoke }: Row, onDone: () => void): VNode {
  const revoke = async () => {
    const { data, faults } = await run('RevokeInvitation', { id });
    onDone();
    return refusalOf(data?.revokeOrganizationInvitation, faults);
  };
  const question = `Revoke the invitation of ${email}? Its link stops working at once.`;
  return html`<tr key=${id}>
    <td class="wide">${email}</td>
    <td>${roleName(role)}</td>
    <td dir="auto">${invitedBy?.name ?? invitedBy?.email ?? '–'}</td>
    <td><${Time} at=${expiresAt} /></td>
    <td class="end">${viewerCanRevoke && html`<${Action} label="Revoke" confirm=${question} run=${revoke} />`}</td>
  </tr>`;
}
