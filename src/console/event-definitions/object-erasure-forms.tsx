import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { finish } from '../parts/notices.tsx';
import type { Variables } from '../generated/operation-types.ts';

interface EraseProps extends DialogProps {
  readonly input: Variables['DeleteObjectOccurrences']['input'];
}

/** Erases the object of an occurrence, in all events of the organization. */
export function EraseObject({ input, onClose }: EraseProps) {
  const form = useForm({
    initial: {},
    send: (_, { idempotencyKey }) => run('DeleteObjectOccurrences', { input }, { idempotencyKey }),
    onDone: () => finish('The object is being erased. Your profile shows when that is done.', onClose),
  });
  return (
    <FormDialog title="Erase the object" submit="Erase" isDanger form={form} onClose={onClose}>
      <p>
        All occurrences of “{input.objectId ?? input.email}” in this organization, of this and of other events, and its
        registered identifiers are deleted. What arrives later stays. This cannot be undone.
      </p>
    </FormDialog>
  );
}
