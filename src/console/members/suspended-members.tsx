import { mutate, usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, List, TimeCell, personOf, roleName } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';
import { NameCell } from './name-cell.tsx';
import { PersonData } from './person-data.tsx';

type Organization = NonNullable<Answers['SuspendedMembers']['viewer']['organization']>;
type Row = NonNullable<Organization['suspendedMembers']>['nodes'][number];

interface Props {
  readonly filter: { readonly search: string | null };
  readonly onDone: () => void;
}

/** The people whom the identity provider has suspended. `onDone` follows a reactivation. */
export function SuspendedMembers({ filter, onDone }: Props) {
  const list = usePages(
    'SuspendedMembers',
    { first: 50, filter },
    ({ viewer }) => viewer.organization?.suspendedMembers,
  );
  if (list.rows.length === 0) return null;
  const hasNames = list.rows.some(({ user }) => user.name);
  const changed = () => {
    list.reload();
    onDone();
  };
  return (
    <div>
      <h2>Suspended members</h2>
      <List
        label="Suspended members"
        list={list}
        row={(row: Row) => rowOf(row, hasNames, changed)}
        head={['Suspended', ...(hasNames ? ['E-mail'] : []), 'Role', 'Since', '']}
        isDense
      />
    </div>
  );
}

function rowOf({ role, suspendedAt, user }: Row, hasNames: boolean, onDone: () => void) {
  const name = personOf(user);
  return (
    <tr key={user.id}>
      <NameCell name={name} />
      {hasNames && (
        <td class="second" title={user.email ?? undefined}>
          {user.name && user.email}
        </td>
      )}
      <td>{roleName(role)}</td>
      <TimeCell at={suspendedAt} isShort class="minor" />
      <td class="end">
        <Menu>
          <Action
            label="Reactivate"
            confirm={`Reactivate “${name}”? They have their role again. Keys that have ended stay ended.`}
            run={() => mutate('ReactivateMember', { userId: user.id }, onDone)}
          />
          <PersonData user={user} onDone={onDone}>
            <Action
              label="Remove"
              confirm={`Remove “${name}”? Their personal MCP connections are deleted.`}
              run={() => mutate('RemoveMember', { userId: user.id }, onDone)}
            />
          </PersonData>
        </Menu>
      </td>
    </tr>
  );
}
