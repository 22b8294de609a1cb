import type { VNode } from 'preact';
import { run } from './api.ts';
import type { DialogProps } from './form-button.ts';
import { SelectField, TextField } from './form-fields.ts';
import { FormDialog, useForm } from './form.ts';
import { html } from './html.ts';
import { ROLES } from './parts.ts';

/** The form that creates a service account. */
export function CreateServiceAccount({ onDone, onClose }: DialogProps & { readonly onDone: () => void }): VNode {
  const form = useForm({
    initial: { name: '', role: 'MEMBER' },
    send: ({ name, role }, { idempotencyKey }) =>
      run('CreateServiceAccount', { input: { name, role: role === 'ADMIN' ? 'ADMIN' : 'MEMBER' } }, { idempotencyKey }),
    onDone: () => {
      onClose();
      onDone();
    },
  });
  return html`<${FormDialog} title="New service account" submit="Create" form=${form} onClose=${onClose}>
    <${TextField} name="name" label="Name" isRequired help="What uses it, such as the CI of a repository." />
    <${SelectField} name="role" label="Role" choices=${ROLES} />
  <//>`;
}
