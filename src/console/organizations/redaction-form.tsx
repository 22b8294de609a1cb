import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { ConfirmField, TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { finish } from '../parts/notices.tsx';

/** Replaces a text in all sessions. The slug is typed again. */
export function RedactOrganization({ slug, onClose }: DialogProps & { readonly slug: string }) {
  const form = useForm({
    boundsOf: 'RedactOrganization',
    initial: { text: '', typed: '' },
    send: ({ text }, { idempotencyKey }) => run('RedactOrganization', { text }, { idempotencyKey }),
    onDone: () => finish('The redaction was requested. Your profile shows how far it is.', onClose),
  });
  return (
    <FormDialog
      title="Redact in all sessions"
      submit="Redact"
      isDanger
      isBlocked={form.values.typed !== slug}
      form={form}
      onClose={onClose}
    >
      <p>
        Each occurrence of this text in all sessions of the organization, private ones too, becomes “[redacted]”. Held
        sessions are left. This cannot be undone.
      </p>
      <TextField name="text" label="Text" rows={3} isRequired help="4 to 10,000 characters." />
      <ConfirmField name="typed" text={slug} />
    </FormDialog>
  );
}
