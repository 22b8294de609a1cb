import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { SelectField, TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { ROLES, roleOf } from '../parts/parts.tsx';

/** The form that creates a service account. */
export function CreateServiceAccount({ onDone, onClose }: DialogProps & { readonly onDone: () => void }) {
  const form = useForm({
    boundsOf: 'CreateServiceAccount',
    initial: { name: '', role: 'MEMBER' },
    send: ({ name, role }, { idempotencyKey }) =>
      run('CreateServiceAccount', { input: { name, role: roleOf(role) } }, { idempotencyKey }),
    onDone: () => {
      onClose();
      onDone();
    },
  });
  return (
    <FormDialog title="New service account" submit="Create" form={form} onClose={onClose}>
      <TextField name="name" label="Name" isRequired help="What uses it, such as the CI of a repository." />
      <SelectField name="role" label="Role" choices={ROLES} />
    </FormDialog>
  );
}
