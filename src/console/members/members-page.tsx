import { useCallback, useEffect, useState } from 'preact/hooks';
import { useAdministration } from '../parts/caller.ts';
import { FormerMembers } from './former-members.tsx';
import { Filters, InputField, useFilter, useSettled } from '../parts/filters.tsx';
import { mutate, usePages, useQuery } from '../parts/hooks.ts';
import { Invitations } from './invitations.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { NameCell } from './name-cell.tsx';
import { PersonData } from './person-data.tsx';
import { RoleActions } from './role-actions.tsx';
import { ServiceAccounts } from './service-accounts.tsx';
import { SuspendedMembers } from './suspended-members.tsx';
import { Action, List, PageFrame, type Role, TimeCell, personOf, roleName } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';
import { follow } from '../parts/streams.ts';

type Organization = NonNullable<Answers['Members']['viewer']['organization']>;
type Row = NonNullable<Organization['members']>['edges'][number];

export function MembersPage() {
  const isAdministrator = useAdministration();
  const [search, setSearch] = useFilter('search');
  const filter = { search: useSettled(search) || null };
  const list = usePages('Members', { first: 50, filter, isAdministrator }, ({ viewer }) => {
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
  // Without a name, the e-mail address is the name.
  const hasNames = list.rows.some(({ node }) => node.user.name);
  return (
    <PageFrame title="Members" intro="People join by accepting an invitation.">
      {mayChange && <Invitations joinings={joinings} />}
      <Filters>
        <InputField label="Search" value={search} onChange={setSearch} />
      </Filters>
      <List
        label="Members"
        list={list}
        row={(row: Row) => rowOf(row, hasNames, mayChange && { isOwn: row.node.user.id === own?.user?.id }, changed)}
        empty={search ? 'No member matches this.' : 'There are no members that you may see.'}
        head={[
          'Member',
          ...(hasNames ? ['E-mail'] : []),
          'Role',
          'Joined',
          ...(isAdministrator ? ['Last seen'] : []),
          '',
        ]}
        isDense
      />
      {mayChange && <SuspendedMembers filter={filter} onDone={changed} />}
      {mayChange && <FormerMembers filter={filter} round={joinings} />}
      {mayChange && <ServiceAccounts />}
    </PageFrame>
  );
}

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  ADMIN: 'They can then read all sessions, invite and remove people, and delete the organization.',
  MEMBER: 'They can then not manage people, keys and webhooks of others.',
  VIEWER: 'They can then read what members read, and change, record and call nothing.',
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

function rowOf(
  { role, node: { user, joinedAt, lastSeenAt } }: Row,
  hasNames: boolean,
  acting: { readonly isOwn: boolean } | false,
  onDone: () => void,
) {
  const changeRole = (other: Role) => mutate('ChangeRole', { userId: user.id, role: other }, onDone);
  const remove = () => mutate('RemoveMember', { userId: user.id }, onDone);
  const name = personOf(user);
  const question = `Remove “${name}”? Their keys, sign-ins and connected apps stop working here at once, and their personal MCP connections are deleted. Service accounts stay, with keys that they may know.`;
  return (
    <tr key={user.id}>
      <NameCell name={name} />
      {hasNames && (
        <td class="second" title={user.email ?? undefined}>
          {user.name && user.email}
        </td>
      )}
      <td>{roleName(role)}</td>
      <TimeCell at={joinedAt} isShort class="minor" />
      {lastSeenAt !== undefined && <TimeCell at={lastSeenAt} isShort class="minor" />}
      <td class="end">
        {acting && (
          <Menu>
            {!acting.isOwn && (
              <>
                <RoleActions role={role} name={name} meanings={ROLE_MEANINGS} change={changeRole} />
                <Action
                  label="Sign out"
                  confirm={`End all sign-ins and connected apps of “${name}” here? Their API keys stay.`}
                  run={() => mutate('EndSignIns', { userId: user.id }, onDone)}
                />
              </>
            )}
            <PersonData user={user} isOwn={acting.isOwn} onDone={onDone}>
              <Action label="Remove" confirm={question} run={remove} />
            </PersonData>
          </Menu>
        )}
      </td>
    </tr>
  );
}
