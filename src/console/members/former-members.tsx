import { useEffect } from 'preact/hooks';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { NameCell } from './name-cell.tsx';
import { formerName } from './people.ts';
import { PersonData } from './person-data.tsx';
import { List, TimeCell } from '../parts/parts.tsx';
import { Menu } from '../parts/row-actions.tsx';

type Organization = NonNullable<Answers['FormerMembers']['viewer']['organization']>;
type Row = NonNullable<Organization['formerMembers']>['nodes'][number];

const HEAD = ['Former member', 'Left', ''];

interface Props {
  readonly filter: { readonly search: string | null };
  /** Changes when somebody leaves. */
  readonly round: number;
}

/** The people who have left or were removed. */
export function FormerMembers({ filter, round }: Props) {
  const list = usePages('FormerMembers', { first: 20, filter }, ({ viewer }) => viewer.organization?.formerMembers);
  useEffect(() => {
    if (round > 0) list.reload();
  }, [round]);
  if (list.rows.length === 0) return null;
  return (
    <div>
      <h2>Former members</h2>
      <List label="Former members" list={list} row={(row: Row) => rowOf(row, list.reload)} head={HEAD} isDense />
    </div>
  );
}

function rowOf(person: Row, onDone: () => void) {
  const { userId: id, userDatabaseId: databaseId, leftAt } = person;
  const name = formerName(person);
  return (
    <tr key={id}>
      <NameCell name={name} />
      <TimeCell at={leftAt} isShort />
      <td class="end">
        <Menu>
          <a class="button small plain" href={`/sessions?creator=${databaseId}`}>
            Sessions
          </a>
          <a class="button small plain" href={`/audit-log?by=${databaseId}`}>
            Audit log
          </a>
          <PersonData user={{ id, databaseId, name, email: null }} onDone={onDone} />
        </Menu>
      </td>
    </tr>
  );
}
