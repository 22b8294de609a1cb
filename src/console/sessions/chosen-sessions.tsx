import { useState } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { type Answer, run } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Button } from '../parts/button.tsx';
import { FaultText } from '../parts/fault-text.tsx';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { SelectField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { mutate, useQuery } from '../parts/hooks.ts';
import { confirmDone } from '../parts/notices.tsx';
import { Counts, Faults, Loading, wordsOf } from '../parts/parts.tsx';

export type Row = NonNullable<NonNullable<Answers['Sessions']['viewer']['organization']>['sessions']>['nodes'][number];

/** What can be done with several sessions at once. Each is changed by itself: one that is refused does not stop the others. */

interface ChosenProps {
  readonly sessions: readonly Row[];
  readonly onDone: () => void;
}

export function ChosenSessions({ sessions, onDone, onClear }: ChosenProps & { readonly onClear: () => void }) {
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  /** Changes all, and tells how many were refused and why. */
  const change = async (one: (session: Row) => Promise<string | undefined>) => {
    if (isBusy) return;
    setBusy(true);
    const refusals: string[] = [];
    for (const session of sessions) {
      const refusal = await one(session);
      if (refusal !== undefined) refusals.push(refusal);
    }
    setBusy(false);
    const [first] = refusals;
    setFault(first && `${refusals.length} of ${sessions.length} not changed: ${first}`);
    if (first === undefined) onDone();
  };
  const arePinned = sessions.every(({ isPinned }) => isPinned);
  const arePrivate = sessions.every(({ visibility }) => visibility === 'PRIVATE');
  const pin = ({ id }: Row) => mutate('PinSession', { id, isPinned: !arePinned }, () => undefined);
  const visibility = arePrivate ? 'PUBLIC' : 'PRIVATE';
  const show = ({ id: sessionId }: Row) =>
    mutate('UpdateSession', { input: { sessionId, visibility } }, () => undefined);
  const props = { sessions, onDone };
  return (
    <div class="chosen row" role="group" aria-label="Chosen sessions">
      <strong>{counted(sessions.length, 'session')} chosen</strong>
      <Button onClick={() => void change(pin)}>{arePinned ? 'Unpin' : 'Pin'}</Button>
      <FormButton label="Change state" dialog={ChangeStates} props={props} />
      <Button onClick={() => void change(show)}>{arePrivate ? 'Make public' : 'Make private'}</Button>
      <FormButton label="Delete…" dialog={DeleteSessions} props={props} />
      <Button onClick={onClear}>Choose none</Button>
      <FaultText text={fault} />
    </div>
  );
}

/** Runs the operation for each session. @returns the first answer with a refusal, or the last one */
async function forEach<Data extends object>(
  sessions: readonly Row[],
  one: (session: Row) => Promise<Answer<Data>>,
): Promise<Answer<Data>> {
  let last: Answer<Data> = { data: null, faults: [] };
  let refused: Answer<Data> | undefined;
  for (const session of sessions) {
    last = await one(session);
    const [result] = Object.values<object | null>(last.data ?? {});
    if (!result || 'message' in result) refused ??= last;
  }
  return refused ?? last;
}

const STATES: readonly Row['state']['current'][] = ['CANCELLED', 'COMPLETED', 'FAILED', 'QUEUED', 'IN_PROGRESS'];
const STATE_CHOICES = STATES.map((state) => [state, wordsOf(state)] as const);

function ChangeStates({ sessions, onDone, onClose }: ChosenProps & DialogProps) {
  const form = useForm({
    initial: { state: STATES[0] ?? 'CANCELLED' },
    send: ({ state }) => forEach(sessions, ({ id }) => run('TransitionSession', { id, state })),
    onDone: () => {
      onClose();
      confirmDone(`The sessions are ${wordsOf(form.values.state).toLowerCase()}.`);
      onDone();
    },
  });
  return (
    <FormDialog title="Change the state" submit="Change state" form={form} onClose={onClose}>
      <p>{counted(sessions.length, 'session')}. Those that cannot go there from their state stay as they are.</p>
      <SelectField name="state" label="New state" choices={STATE_CHOICES} />
    </FormDialog>
  );
}

function DeleteSessions({ sessions, onDone, onClose }: ChosenProps & DialogProps) {
  const { data, faults, paused } = useQuery('SessionsDeletionPreview', { ids: sessions.map(({ id }) => id) });
  const preview = data?.viewer.organization?.sessionsDeletionPreview;
  const form = useForm({
    initial: {},
    send: () => forEach(sessions, ({ id }) => run('DeleteSession', { id })),
    onDone: () => {
      onClose();
      confirmDone('The sessions were deleted.');
      onDone();
    },
  });
  return (
    <FormDialog
      title="Delete sessions"
      submit="Delete permanently"
      isDanger
      isBlocked={!preview}
      form={form}
      onClose={onClose}
    >
      <Faults faults={faults} />
      {!data && <Loading paused={paused} />}
      {preview && (
        <>
          <p>
            Deleting {counted(preview.sessions, 'session')} deletes everything in them, for everybody. This cannot be
            undone.
            {preview.held.length > 0 && ` Held by an administrator, and left: ${preview.held.length}.`}
          </p>
          <Counts counts={[['Events', preview.events]]} />
        </>
      )}
    </FormDialog>
  );
}
