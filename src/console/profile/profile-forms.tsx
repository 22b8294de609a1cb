import { endedBy, run } from '../parts/api.ts';
import { reloadCaller } from '../parts/caller.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { TextField, ConfirmField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { confirmDone, finish } from '../parts/notices.tsx';
import type { Answers } from '../generated/operation-types.ts';

type Loaded = Answers['Profile']['viewer'];
/** People alone sign in. */
type Viewer = Loaded & { readonly user: NonNullable<Loaded['user']> };

interface ProfileProps extends DialogProps {
  readonly viewer: Viewer;
  readonly onDone: () => void;
}

export function EditProfile({ viewer: { user }, onDone, onClose }: ProfileProps) {
  const values = { name: user.name ?? '' };
  const form = useForm({
    boundsOf: 'UpdateViewer',
    initial: values,
    current: { updatedAt: user.updatedAt, values },
    onConflict: onDone,
    send: ({ name }, { idempotencyKey, expectedUpdatedAt }) => {
      const input = { name: name || null, expectedUpdatedAt: expectedUpdatedAt ?? null };
      return run('UpdateViewer', { input }, { idempotencyKey });
    },
    onDone: () => finish('Your profile was changed.', onClose, onDone, reloadCaller),
  });
  return (
    <FormDialog title="Edit the profile" submit="Save" form={form} onClose={onClose}>
      <TextField
        name="name"
        label="Name"
        help="Shown to the members of all your organizations. Without a name, they see your e-mail address."
      />
      <p class="soft">The e-mail address of an account never changes.</p>
    </FormDialog>
  );
}

/** What is lost with the account, and a field to confirm the e-mail address. */
export function DeleteAccount({ viewer: { user, apiKey, organizations }, onDone, onClose }: ProfileProps) {
  const form = useForm({
    initial: { typed: '' },
    send: (_, { idempotencyKey }) => run('DeleteUser', { id: user.id }, { idempotencyKey }),
    onDone: () => {
      endedBy.note('account');
      onClose();
      onDone();
      confirmDone('The deletion of your account was requested.');
    },
  });
  const alone = organizations.nodes.filter(({ memberCount }) => memberCount === 1);
  const shared = organizations.nodes.filter(({ memberCount }) => memberCount > 1);
  return (
    <FormDialog
      title="Delete my account"
      submit="Delete permanently"
      isDanger
      isBlocked={form.values.typed !== user.email}
      form={form}
      onClose={onClose}
    >
      <p>All your API keys stop working, and you are signed out. This cannot be undone. It deletes:</p>
      <ul class="lost">
        <li>your account with your name and e-mail address</li>
        <li>your private sessions with their events, and your personal MCP connections</li>
        {alone.map(({ id, name }) => (
          <li key={id}>
            the organization <strong>{name}</strong> with everything in it, because it has no other member
          </li>
        ))}
        {shared.map(({ id, name }) => (
          <li key={id}>
            your membership in <strong>{name}</strong>
          </li>
        ))}
      </ul>
      <p class="soft">
        Your public sessions and shared MCP connections stay, without your name.
        {apiKey.organization &&
          ' This key shows only one of your organizations: the others that have no other member are deleted, too.'}
      </p>
      <ConfirmField name="typed" text={user.email} />
    </FormDialog>
  );
}
