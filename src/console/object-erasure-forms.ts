import type { VNode } from 'preact';
import { run } from './api.ts';
import type { DialogProps } from './form-button.ts';
import { FormDialog, useForm } from './form.ts';
import { html } from './html.ts';
import { confirmDone } from './notices.ts';
import type { Variables } from './operation-types.ts';

interface EraseProps extends DialogProps {
  readonly input: Variables['DeleteObjectOccurrences']['input'];
}

/** Erases the object of an occurrence, in all events of the organization. */
export function EraseObject({ input, onClose }: EraseProps): VNode {
  const form = useForm({
    initial: {},
    send: (_, { idempotencyKey }) => run('DeleteObjectOccurrences', { input }, { idempotencyKey }),
    onDone: () => {
      onClose();
      confirmDone('The object is being erased. Your profile shows when that is done.');
    },
  });
  return html`<${FormDialog} title="Erase the object" submit="Erase" isDanger form=${form} onClose=${onClose}>
    <p>
      All occurrences of “${input.objectId ?? input.email}” in this organization, of this and of other events, and its
      registered identifiers are deleted. What arrives later stays. This cannot be undone.
    </p>
  <//>`;
}
