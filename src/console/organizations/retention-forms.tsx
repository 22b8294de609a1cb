import { run } from '../parts/api.ts';
import { useSettled } from '../parts/filters.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { finish } from '../parts/notices.tsx';
import { Counts, Faults, Loading } from '../parts/parts.tsx';
import type { Organization } from './organization-forms.tsx';

interface Props extends DialogProps {
  readonly organization: Organization;
  readonly onDone: () => void;
}

type Values = Readonly<Record<'sessionDays' | 'occurrenceDays' | 'auditLogDays', string>>;

/** The days as they are sent: nothing keeps all, and the API says which numbers it takes. */
export const daysOf = (text: string): number | null =>
  text.trim() === '' ? null : /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;

const textOf = (days: number | null | undefined) => String(days ?? '');

const valuesOf = ({ retention }: Organization): Values => ({
  sessionDays: textOf(retention?.sessionDays),
  occurrenceDays: textOf(retention?.occurrenceDays),
  auditLogDays: textOf(retention?.auditLogDays),
});

const inDays = (values: Partial<Values>) =>
  Object.fromEntries(Object.entries(values).map(([name, text]) => [name, daysOf(text)]));

/** Changes how long things are kept, with the counts of what that deletes. */
export function EditRetention({ organization, onDone, onClose }: Props) {
  const { id, updatedAt } = organization;
  const values = valuesOf(organization);
  const form = useForm({
    initial: values,
    current: { updatedAt, values },
    onConflict: onDone,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const input = { organizationId: id, expectedUpdatedAt: expectedUpdatedAt ?? null, ...inDays(changed) };
      return run('UpdateRetention', { input }, { idempotencyKey });
    },
    onDone: () => finish('The retention was changed.', onClose, onDone),
  });
  const wanted = JSON.stringify(inDays(form.values));
  const settled = useSettled(wanted);
  const { data, faults, isLoading, paused } = useQuery('RetentionPreview', JSON.parse(settled) as object);
  const preview = data?.viewer.organization?.retentionPreview;
  const isRefused = faults.some(({ extensions }) => extensions?.code === 'INVALID_INPUT');
  // A refused preview blocks nothing: the answer to the form names the field.
  const isCounting = isLoading || settled !== wanted;
  return (
    <FormDialog
      title="Change the retention"
      submit="Save"
      isDanger={(preview?.sessions ?? 0) + (preview?.occurrences ?? 0) + (preview?.auditEntries ?? 0) > 0}
      isBlocked={isCounting}
      form={form}
      onClose={onClose}
    >
      <p>What is older than these days is deleted by a job, at least once an hour. An empty field keeps all.</p>
      <TextField
        name="sessionDays"
        label="Days for sessions"
        help="After the last recorded event or change. Queued, running, pinned and held sessions stay."
      />
      <TextField name="occurrenceDays" label="Days for occurrences of events" />
      <TextField name="auditLogDays" label="Days for the audit log" />
      <h3>What this deletes now</h3>
      {isCounting && !preview && <Loading paused={paused} />}
      {!isCounting &&
        (isRefused ? <p class="soft">Days are whole numbers from 1 to 36,500.</p> : <Faults faults={faults} />)}
      {preview && (
        <div aria-busy={isCounting} role="status">
          <Counts
            counts={[
              ['Sessions', preview.sessions],
              ['Occurrences', preview.occurrences],
              ['Audit log entries', preview.auditEntries],
            ]}
          />
        </div>
      )}
    </FormDialog>
  );
}
