import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { CheckField, ChecksField, SelectField, TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { finish } from '../parts/notices.tsx';
import type { Variables } from '../generated/operation-types.ts';
import { type EntryType, STATES, type State, TYPES, type Webhook } from './webhook-types.ts';

const WHICH = [
  ['ALL', 'All changes, also those of later versions'],
  ['SOME', 'Only these'],
] as const;

interface Values {
  readonly url: string;
  readonly which: 'ALL' | 'SOME';
  readonly types: readonly EntryType[];
  readonly conditions: readonly State[];
}

const inputOf = ({ url, which, types, conditions }: Values) => ({
  url,
  types: which === 'ALL' ? null : [...types],
  conditions: conditions.length === 0 ? null : { sessionStates: [...conditions] },
});

function Fields({ which, types, conditions }: Values) {
  // Under all changes, only where there is such a condition already.
  const hasStates = (which === 'SOME' && types.includes('SESSION_STATE_CHANGED')) || conditions.length > 0;
  return (
    <div class="form">
      <TextField
        name="url"
        label="Address"
        type="url"
        isRequired
        placeholder="https://example.com/hooks/workspace"
        help="An https address that everybody can reach. It gets each change as a signed message."
      />
      <SelectField name="which" label="Send" choices={WHICH} />
      {which === 'SOME' && <ChecksField name="types" label="Changes" choices={TYPES} />}
      {hasStates && (
        <ChecksField
          name="conditions"
          label="Another state of a session: only these states"
          choices={STATES}
          help="With none, all states."
        />
      )}
    </div>
  );
}

interface CreateProps extends DialogProps {
  readonly onCreated: (secret: string) => void;
}

/** The form that creates a webhook. */
export function CreateWebhook({ onClose, onCreated }: CreateProps) {
  const initial: Values = { url: '', which: 'ALL', types: [], conditions: [] };
  const form = useForm({
    boundsOf: 'CreateWebhook',
    initial,
    send: (values, { idempotencyKey }) => run('CreateWebhook', { input: inputOf(values) }, { idempotencyKey }),
    onDone: ({ secret }) => {
      onClose();
      onCreated(secret);
    },
  });
  return (
    <FormDialog title="New webhook" submit="Create" form={form} onClose={onClose}>
      <Fields {...form.values} />
    </FormDialog>
  );
}

interface WebhookProps extends DialogProps {
  readonly webhook: Webhook;
  readonly onDone: () => void;
}

const valuesOf = ({ url, types, conditions }: Webhook): Values => ({
  url,
  which: types === null ? 'ALL' : 'SOME',
  types: types ?? [],
  conditions: conditions?.sessionStates ?? [],
});

export function EditWebhook({ webhook, onDone, onClose }: WebhookProps) {
  const form = useForm({
    boundsOf: 'UpdateWebhook',
    initial: valuesOf(webhook),
    current: { updatedAt: webhook.updatedAt, values: valuesOf(webhook) },
    send: (values, { idempotencyKey, expectedUpdatedAt }) => {
      const input: Variables['UpdateWebhook']['input'] = {
        webhookId: webhook.id,
        ...inputOf(values),
        expectedUpdatedAt: expectedUpdatedAt ?? null,
      };
      return run('UpdateWebhook', { input }, { idempotencyKey });
    },
    onConflict: onDone,
    onDone: () => finish('The webhook was changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Edit the webhook" submit="Save" form={form} onClose={onClose}>
      <Fields {...form.values} />
    </FormDialog>
  );
}

/** The form that sends entries again. */
export function ReplayWebhook({ webhook, onDone, onClose }: WebhookProps) {
  const form = useForm({
    initial: { after: String(webhook.cursor), onlyFailed: false },
    send: ({ after, onlyFailed }, { idempotencyKey }) =>
      run('ReplayWebhook', { id: webhook.id, after: Number(after), onlyFailed }, { idempotencyKey }),
    onDone: () => finish('The entries are sent again.', onClose, onDone),
  });
  return (
    <FormDialog title="Replay entries" submit="Replay" form={form} onClose={onClose}>
      <TextField
        name="after"
        label="After the entry with the id"
        isRequired
        help="The entries after it are sent, in their order, with 0 all that are kept. A later id than that of the last delivered entry skips the entries up to it."
      />
      <CheckField name="onlyFailed" label="Only what was never delivered" />
    </FormDialog>
  );
}
