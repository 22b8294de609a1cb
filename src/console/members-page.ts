import type { VNode } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { run } from './api.ts';
import { refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Invitations } from './invitations.ts';
import type { Answers } from './operation-types.ts';
import { Membership } from './membership.ts';
import { Retention } from './retention.ts';
import { ServiceAccounts } from './service-accounts.ts';
import { Action, Empty, List, PageFrame, Time, personOf, roleName } from './parts.ts';
import { follow } from './streams.ts';

type Organization = NonNullable<Answers['Members']['viewer']['organization']>;
type Row = NonNullable<Organization['members']>['edges'][number];

const HEAD = ['Member', 'Role', 'Joined', ''];

export function MembersPage(): VNode {
  const list = usePages('Members', { first: 50 }, ({ viewer }) => {
    const members = viewer.organization?.members;
    return members && { nodes: members.edges, pageInfo: members.pageInfo };
  });
  const membership = useQuery('Membership', {});
  const own = membership.data?.viewer;
  const [joinings, setJoinings] = useState(0);
  const changed = useCallback(() => {
    list.reload();
    setJoinings((count) => count + 1);
  }, [list.reload]);
  useJoining(membership.data, changed);
  const mayChange = own?.organization?.viewerCanAdminister ?? false;
  return html`<${PageFrame} title="Members" intro="People join by accepting an invitation.">
    ${mayChange && html`<${Invitations} joinings=${joinings} />`}
    <${List}
      label="Members"
      list=${list}
      row=${(row: Row) => rowOf(row, mayChange && row.node.user.id !== own?.user?.id, list.reload)}
      empty=${html`<${Empty}>There are no members that you may see.<//>`}
      head=${HEAD}
    />
    ${mayChange && html`<${ServiceAccounts} />`}
    ${own?.organization && html`<${Membership} organization=${own.organization} onDone=${membership.reload} />`}
    ${mayChange && html`<${Retention} />`}
  <//>`;
}

const ROLE_QUESTIONS: Readonly<Record<Row['role'], (name: string) => string>> = {
  ADMIN: (name) =>
    `Make “${name}” an administrator? They can then read all sessions, invite and remove people, and delete the organization.`,
  MEMBER: (name) => `Make “${name}” a member? They can then no longer manage people, keys and webhooks of others.`,
};

/** Calls `changed` when somebody joins or leaves after the entry of the feed. */
function useJoining(membership: Answers['Membership'] | null, changed: () => void): void {
  const feed = membership?.viewer.organization?.feed;
  const after = feed?.nodes[0]?.databaseId;
  useEffect(() => {
    if (!feed) return undefined;
    return follow(
      'MembersChanged',
      { after: after === undefined ? null : String(after) },
      { onData: changed, onState: () => undefined },
    );
  }, [feed !== undefined, changed]);
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
          <${Action}
            label=${`Make ${roleName(other).toLowerCase()}`}
            confirm=${ROLE_QUESTIONS[other](name)}
            run=${changeRole}
          />
          <${Action} label="Remove" confirm=${question} run=${remove} />
        </div>`
      }
    </td>
  </tr>`;
}
