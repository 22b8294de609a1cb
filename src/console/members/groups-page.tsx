import { type Answer, run } from '../parts/api.ts';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { TextField, useField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { mutate, useAllPages, usePages } from '../parts/hooks.ts';
import { finish } from '../parts/notices.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Action, List, PageFrame, personOf } from '../parts/parts.tsx';

type Organization = NonNullable<Answers['Groups']['viewer']['organization']>;
type Row = NonNullable<Organization['groups']>['nodes'][number];

const HEAD = ['Group', 'Members', ''];

/** The groups of people and service accounts. */
export function GroupsPage() {
  const list = usePages('Groups', { first: 50 }, ({ viewer }) => viewer.organization?.groups);
  const create = <FormButton label="New group" isPlain={false} dialog={EditGroup} props={{ onDone: list.reload }} />;
  return (
    <PageFrame title="Groups" intro="People and service accounts, for rules and reports." actions={create}>
      <List
        label="Groups"
        list={list}
        row={(group: Row) => rowOf(group, list.reload)}
        empty="There are no groups yet."
        head={HEAD}
      />
    </PageFrame>
  );
}

function rowOf(group: Row, onDone: () => void) {
  const { id, name, externalName, isManagedBySCIM, members } = group;
  return (
    <tr key={id}>
      <td class="wide">
        <strong>{name}</strong>
        {externalName !== null && <div class="soft">Tied to {externalName}</div>}
        {isManagedBySCIM && <div class="soft">SCIM changes its members</div>}
      </td>
      <td>{members?.totalCount}</td>
      <td class="end">
        <div class="actions wrap">
          <FormButton label="Edit" dialog={EditGroup} props={{ group, onDone }} />
          <Action
            label="Delete"
            confirm={`Delete the group “${name}”? Its members stay in the organization.`}
            run={() => mutate('DeleteGroup', { id }, onDone)}
          />
        </div>
      </td>
    </tr>
  );
}

interface Member {
  readonly id: string;
}

interface EditGroupProps extends DialogProps {
  /** Absent for a new one. */
  readonly group?: Row;
  readonly onDone: () => void;
}

/** The form that creates or changes a group. One with many members is shown once they are loaded. */
function EditGroup(props: EditGroupProps) {
  const known = props.group?.members?.nodes ?? [];
  if (!props.group || props.group.isManagedBySCIM || props.group.members?.totalCount === known.length)
    return <GroupForm {...props} members={known} />;
  return <LargeGroup {...props} group={props.group} />;
}

function LargeGroup(props: EditGroupProps & { readonly group: Row }) {
  const { id } = props.group;
  const list = useAllPages('GroupMembers', { id, first: 100 }, ({ node }) =>
    node && 'members' in node ? node.members : null,
  );
  const isLoading = list.hasMore || list.isLoading;
  return isLoading && list.faults.length === 0 ? null : <GroupForm {...props} members={list.rows} />;
}

function GroupForm({ group, members, onDone, onClose }: EditGroupProps & { readonly members: readonly Member[] }) {
  const initial = {
    name: group?.name ?? '',
    externalName: group?.externalName ?? '',
    memberIds: members.map(({ id }) => id) as readonly string[],
  };
  // Members that could not be loaded would be taken out.
  const isWhole = group === undefined || (!group.isManagedBySCIM && members.length >= (group.members?.totalCount ?? 0));
  const form = useForm({
    boundsOf: 'CreateGroup',
    initial,
    send: (
      { name, externalName, memberIds },
      { idempotencyKey },
    ): Promise<Answer<Answers['CreateGroup'] | Answers['UpdateGroup']>> => {
      const input = { name, externalName: externalName || null, ...(isWhole && { memberIds }) };
      if (!group) return run('CreateGroup', { input }, { idempotencyKey });
      return run(
        'UpdateGroup',
        { input: { ...input, groupId: group.id, expectedUpdatedAt: group.updatedAt } },
        { idempotencyKey },
      );
    },
    onDone: () => finish('The group was saved.', onClose, onDone),
  });
  return (
    <FormDialog title={group ? `Group ${group.name}` : 'New group'} submit="Save" form={form} onClose={onClose}>
      <TextField name="name" label="Name" isRequired />
      <TextField name="externalName" label="Group of the identity provider" help="Its people are then the members." />
      {isWhole && <MembersField />}
    </FormDialog>
  );
}

function MembersField() {
  const [{ value, set, id, ...rest }, below] = useField<readonly string[]>('memberIds');
  const { rows } = useAllPages('People', { first: 100 }, ({ viewer }) => viewer.organization?.members);
  const accounts = usePages('ServiceAccounts', { first: 100 }, ({ viewer }) => viewer.organization?.serviceAccounts);
  const choices = [...rows.map(({ user }) => user), ...accounts.rows.map((account) => ({ ...account, email: null }))];
  const toggle = (each: string) => set(value.includes(each) ? value.filter((one) => one !== each) : [...value, each]);
  return (
    <fieldset class="field scope-choice" id={id} tabindex={-1} data-invalid={rest['aria-invalid']}>
      <legend>Members: {value.length}</legend>
      {below}
      {choices.map((account) => (
        <label key={account.id} class="check">
          <input type="checkbox" checked={value.includes(account.id)} onChange={() => toggle(account.id)} />
          {personOf(account)}
        </label>
      ))}
    </fieldset>
  );
}
