import { useContext } from 'preact/hooks';
import { organization as ofTab } from '../parts/address.ts';
import { run } from '../parts/api.ts';
import { CallerContext, useScope } from '../parts/caller.ts';
import { isEndLine } from '../parts/download.ts';
import { FileExport } from '../parts/file-export.tsx';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { CheckField, ConfirmField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import type { Content } from '../parts/markup.ts';
import { finish } from '../parts/notices.tsx';
import { personOf } from '../parts/parts.tsx';

interface Person {
  readonly id: string;
  readonly databaseId: string;
  readonly name: string | null;
  readonly email: string | null;
}

interface PersonProps {
  readonly user: Person;
  readonly onDone: () => void;
}

interface PersonDataProps extends PersonProps {
  readonly isOwn?: boolean;
  /** What else ends something of the person. */
  readonly children?: Content;
}

/** Hands out what the organization has of a person, and erases it. For administrators, at the end of a menu. */
export function PersonData({ isOwn = false, children, ...props }: PersonDataProps) {
  const mayExport = useScope('SESSIONS_READ');
  const { databaseId } = props.user;
  return (
    <>
      {mayExport && (
        <FileExport
          label="Export…"
          path={`/v1/organizations/${ofTab.get()}/members/${databaseId}/export`}
          name={`person-${databaseId}.ndjson`}
          isLast={isEndLine}
        />
      )}
      {!isOwn && (
        <div class="apart">
          {children}
          <FormButton label="Erase…" dialog={ErasePerson} props={props} />
        </div>
      )}
    </>
  );
}

function ErasePerson({ user, onDone, onClose }: PersonProps & DialogProps) {
  const organizationId = useContext(CallerContext)?.organization?.id ?? '';
  const wanted = user.email ?? personOf(user);
  const form = useForm({
    initial: { account: false, typed: '' },
    send: ({ account }, { idempotencyKey }) =>
      run('DeleteMemberData', { input: { organizationId, userId: user.id, account } }, { idempotencyKey }),
    onDone: () => finish('The deletion was requested. Your profile shows how far it is.', onClose, onDone),
  });
  return (
    <FormDialog
      title="Erase a person"
      submit="Erase"
      isDanger
      isBlocked={form.values.typed !== wanted}
      form={form}
      onClose={onClose}
    >
      <p>
        The private sessions of “{personOf(user)}” in this organization are deleted, except held ones. A membership and
        public sessions stay. This cannot be undone.
      </p>
      <CheckField
        name="account"
        label="Delete the account too"
        help="Only for a person who belongs to no other organization."
      />
      <ConfirmField name="typed" text={wanted} />
    </FormDialog>
  );
}
