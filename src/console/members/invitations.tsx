import { useEffect, useState } from 'preact/hooks';
import { run } from '../parts/api.ts';
import { ChoiceField, InputField } from '../parts/filters.tsx';
import { mutate, refusalOf, usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { NameCell } from './name-cell.tsx';
import { Action, Faults, List, ROLES, Secret, personOf, roleName, roleOf, TimeCell } from '../parts/parts.tsx';

type Row = NonNullable<NonNullable<Answers['Invitations']['viewer']['organization']>['invitations']>['nodes'][number];

const HEAD = ['Invited', 'Role', 'By', 'Expires', ''];

/** The form with which administrators invite people, and the open invitations, which are loaded again when somebody has joined. */
export function Invitations({ joinings }: { readonly joinings: number }) {
  const list = usePages('Invitations', { first: 100 }, ({ viewer }) => viewer.organization?.invitations);
  useEffect(() => {
    if (joinings > 0) list.reload();
  }, [joinings]);
  return (
    <div>
      <Invite onDone={list.reload} />
      {list.rows.length === 0 && <Faults faults={list.faults} />}
      {list.rows.length > 0 && (
        <>
          <h2>Open invitations</h2>
          <List label="Open invitations" list={list} row={(row: Row) => rowOf(row, list.reload)} head={HEAD} isDense />
          <h2>Members</h2>
        </>
      )}
    </div>
  );
}

function Invite({ onDone }: { readonly onDone: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<string>('MEMBER');
  const [made, setMade] = useState<{ readonly email: string; readonly token: string }>();
  const [fault, setFault] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const { data, faults } = await run('Invite', { email, role: roleOf(role) });
    const result = data?.inviteOrganizationMember;
    if (result?.__typename === 'InviteOrganizationMemberPayload') {
      setMade({ email, token: result.token });
      setEmail('');
      onDone();
    }
    setFault(refusalOf(result, faults));
  };
  return (
    <section class="panel" aria-labelledby="invite">
      <h2 id="invite">Invite somebody</h2>
      <form class="filters" onSubmit={(event) => void submit(event)}>
        <InputField label="E-mail address" type="email" required value={email} onChange={setEmail} />
        <ChoiceField label="Role" value={role} onChange={setRole} choices={ROLES} />
        <button class="button small">Invite</button>
      </form>
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {made && (
        <Secret
          key={made.token}
          label={`The link for ${made.email}. It is valid for 7 days. No e-mail was sent: pass the link on.`}
          value={`${location.origin}/invitations/accept#${made.token}`}
        />
      )}
    </section>
  );
}

function rowOf({ id, email, role, inviter, expiresAt, viewerCanRevoke }: Row, onDone: () => void) {
  const revoke = () => mutate('RevokeInvitation', { id }, onDone);
  const question = `Revoke the invitation of ${email}? Its link stops working at once.`;
  return (
    <tr key={id}>
      <NameCell name={email} />
      <td>{roleName(role)}</td>
      <td class="minor" dir="auto">
        {inviter ? personOf(inviter) : '–'}
      </td>
      <TimeCell at={expiresAt} isShort />
      <td class="end">{viewerCanRevoke && <Action label="Revoke" confirm={question} run={revoke} />}</td>
    </tr>
  );
}
