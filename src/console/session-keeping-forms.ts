import type { VNode } from 'preact';
import { run } from './api.ts';
import type { DialogProps } from './form-button.ts';
import { TextField } from './form-fields.ts';
import { FormDialog, useForm } from './form.ts';
import { HoldWords } from './hold-words.ts';
import { useQuery } from './hooks.ts';
import { html, visibleText } from './html.ts';
import { goTo } from './navigation.ts';
import { confirmDone } from './notices.ts';
import { Counts, Faults, Loading } from './parts.ts';

interface SessionProps extends DialogProps {
  readonly id: string;
}

/** The title of a session with more events has to be typed again. */
const MANY_EVENTS = 1000;

/** Spaces and characters that are shown by their number are no difference. */
const comparable = (text: string) => visibleText(text).replaceAll(/\s+/g, ' ').trim();

/** What is deleted, and for many events a field to confirm the title. */
export function DeleteSession({ id, onClose }: SessionProps): VNode {
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
      goTo('/sessions');
      confirmDone('The session was deleted.');
    },
  });
  const isConfirmed = !mustConfirm || comparable(form.values.title) === comparable(session?.title ?? '');
  return html`<${FormDialog}
    title="Delete the session"
    submit="Delete permanently"
    isDanger
    isBlocked=${!preview || hold != null || !isConfirmed}
    form=${form}
    onClose=${onClose}
  >
    ${isLoading && !data && html`<${Loading} paused=${paused} />`}<${Faults} faults=${faults} />
    ${data && !preview && faults.length === 0 && html`<p>The session is gone already.</p>`}
    ${hold && html`<p class="notice"><${HoldWords} hold=${hold} />. It cannot be deleted until an administrator releases it.</p>`}
    ${
      preview &&
      !hold &&
      html`<p>Deleting “${session?.title}” deletes everything in it, for everybody. This cannot be undone.</p>
        <${Counts}
          counts=${[
            ['Events', preview.events],
            ['Results', preview.artifacts],
            ['Pull requests', preview.pullRequests],
          ]}
        />`
    }
    ${mustConfirm && !hold && html`<${TextField} name="title" label=${html`Type the title <code>${session?.title}</code>`} isRequired />`}
  <//>`;
}

interface HoldProps extends SessionProps {
  readonly onChange: () => void;
}

export function HoldSession({ id, onChange, onClose }: HoldProps): VNode {
  const form = useForm({
    initial: { reason: '' },
    send: ({ reason }, { idempotencyKey }) => run('HoldSession', { id, reason }, { idempotencyKey }),
    onDone: () => {
      onClose();
      onChange();
      confirmDone('The session is held.');
    },
  });
  return html`<${FormDialog} title="Hold the session" submit="Hold" form=${form} onClose=${onClose}>
    <p>Until it is released, nobody can delete or redact the session, and it is kept longer than others if need be.</p>
    <${TextField}
      name="reason"
      label="Reason"
      rows=${3}
      isRequired
      help="Everybody who can read the session sees it."
    />
  <//>`;
}
