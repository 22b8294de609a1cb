import { run } from '../parts/api.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { TextField, ConfirmField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { HoldWords } from './hold-words.tsx';
import { useQuery } from '../parts/hooks.ts';
import { visibleText } from '../parts/markup.ts';
import { goToList } from '../parts/navigation.ts';
import { confirmDone, finish } from '../parts/notices.tsx';
import { Counts, Faults, Loading } from '../parts/parts.tsx';

interface SessionProps extends DialogProps {
  readonly id: string;
}

/** The title of a session with more events has to be typed again. */
const MANY_EVENTS = 1000;

/** Spaces and characters that are shown by their number are no difference. */
const comparable = (text: string) => visibleText(text).replaceAll(/\s+/g, ' ').trim();

/** What is deleted, and for many events a field to confirm the title. */
export function DeleteSession({ id, onClose }: SessionProps) {
  const { data, faults, isLoading, paused, reload } = useQuery('SessionDeletionPreview', { id });
  const session = data?.session;
  const preview = session?.deletionPreview;
  const hold = session?.hold;
  const mustConfirm = preview != null && preview.events > MANY_EVENTS;
  const form = useForm({
    initial: { title: '' },
    send: async (_, { idempotencyKey }) => {
      const answer = await run('DeleteSession', { id }, { idempotencyKey });
      if (answer.data?.deleteSession?.__typename === 'ConflictError') reload();
      return answer;
    },
    onDone: () => {
      onClose();
      goToList('/sessions');
      confirmDone('The session was deleted.');
    },
  });
  const isConfirmed = !mustConfirm || comparable(form.values.title) === comparable(session?.title ?? '');
  return (
    <FormDialog
      title="Delete the session"
      submit="Delete permanently"
      isDanger
      isBlocked={!preview || hold != null || !isConfirmed}
      form={form}
      onClose={onClose}
    >
      {isLoading && !data && <Loading paused={paused} />}
      <Faults faults={faults} />
      {data && !preview && faults.length === 0 && <p>The session is gone already.</p>}
      {hold && (
        <p class="notice">
          <HoldWords hold={hold} />. It cannot be deleted until an administrator releases it.
        </p>
      )}
      {preview && !hold && (
        <>
          <p>Deleting “{session?.title}” deletes everything in it, for everybody. This cannot be undone.</p>
          <Counts
            counts={[
              ['Events', preview.events],
              ['Results', preview.artifacts],
              ['Pull requests', preview.pullRequests],
            ]}
          />
        </>
      )}
      {mustConfirm && !hold && <ConfirmField name="title" words="Type the title" text={session?.title} />}
    </FormDialog>
  );
}

interface HoldProps extends SessionProps {
  readonly onChange: () => void;
}

export function HoldSession({ id, onChange, onClose }: HoldProps) {
  const form = useForm({
    boundsOf: 'HoldSession',
    initial: { reason: '' },
    send: ({ reason }, { idempotencyKey }) => run('HoldSession', { id, reason }, { idempotencyKey }),
    onDone: () => finish('The session is held.', onClose, onChange),
  });
  return (
    <FormDialog title="Hold the session" submit="Hold" form={form} onClose={onClose}>
      <p>
        Until it is released, nobody can delete or redact the session, and it is kept longer than others if need be.
      </p>
      <TextField name="reason" label="Reason" rows={3} isRequired help="Everybody who can read the session sees it." />
    </FormDialog>
  );
}
