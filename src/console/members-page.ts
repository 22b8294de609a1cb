import type { VNode } from 'preact';
import { run } from './api.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Invitations } from './invitations.ts';
import type { Answers } from './operation-types.ts';
import { Membership } from './membership.ts';
import { Action, Empty, List, PageFrame, Time, personOf, roleName } from './parts.ts';

type Organization = NonNullable<Answers['Members']['viewer']['organization']>;
type Row = NonNullable<Organization['members']>['edges'][number];

const HEAD = ['Member', 'Role', 'Joined', ''];

export function MembersPage(): VNode {
  const list = usePages('Members', { first: 50 }, ({ viewer }) => {
    const members = viewer.organization?.members;
    return members && { nodes: members.edges, pageInfo: members.pageInfo };
  });
  const own = useQuery('Membership', {}).data?.viewer;
  const mayChange = own?.organization?.viewerCanAdminister ?? false;
  return html`<${PageFrame} title="Members" intro="People join by accepting an invitation.">
    ${mayChange && html`<${Invitations} />`}
    <${List}
      label="Members"
      list=${list}
      row=${(row: Row) => rowOf(row, mayChange && row.node.user.id !== own?.user.id, list.reload)}
      empty=${html`<${Empty}>There are no members that you may see.<//>`}
      head=${HEAD}
    />
    ${own?.organization && html`<${Membership} organization=${own.organization} />`}
  <//>`;
}

function rowOf({ role, node: { user, joinedAt } }: Row, mayChange: boolean, onDone: () => void): VNode {
  const other = role === 'ADMIN' ? 'MEMBER' : 'ADMIN';
  const changeRole = async () => {
    const { data, faults } = await run('ChangeRole', { userId: user.id, role: other });
    onDone();
    return refusalOf(data?.changeOrganizationMemberRole, faults);
  };
  const remove = async () => {
    const { data, faults } = await run('RemoveMember', { userId: user.id });
    onDone();
    return refusalOf(data?.removeOrganizationMember, faults);
  };
  const name = personOf(user);
  const question = `Remove “${name}”? Their keys of this organization stop working at once.`;
  return html`<tr key=${user.id}>
    <td class="wide"><strong>${name}</strong>${user.name && html`<div class="soft">${user.email}</div>`}</td>
    <td>${roleName(role)}</td>
    <td><${Time} at=${joinedAt} /></td>
    <td class="end">
      ${
        mayChange &&
        html`<div class="actions">
          <${Action} label=${`Make ${roleName(other).toLowerCase()}`} run=${changeRole} />
          <${Action} label="Remove" confirm=${question} run=${remove} />
        </div>`
      }
    </td>
  </tr>`;
}
