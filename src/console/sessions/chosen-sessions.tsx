import { useState } from 'preact/hooks';
import { counted } from '../parts/amounts.ts';
import { type Answer, type EachResult, runOnEach } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Button } from '../parts/button.tsx';
import { FaultText } from '../parts/fault-text.tsx';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { SelectField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { confirmDone } from '../parts/notices.tsx';
import { Counts, Faults, Loading, wordsOf } from '../parts/parts.tsx';

export type Row = NonNullable<NonNullable<Answers['Sessions']['viewer']['organization']>['sessions']>['nodes'][number];

/** What can be done with several sessions at once. One that is refused does not stop the others. */

interface ChosenProps {
  readonly sessions: readonly Row[];
  readonly onDone: () => void;
}

export function ChosenSessions({ sessions, onDone, onClear }: ChosenProps & { readonly onClear: () => void }) {
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const change = async (mutation: 'pinSession' | 'updateSession', input: object) => {
    if (isBusy) return;
    setBusy(true);
    const answer = await runOnEach(
      mutation,
      sessions.map(({ id: sessionId }) => ({ sessionId, ...input })),
    );
    setBusy(false);
    const refusals = refusalsIn(answer, sessions);
    setFault(refusals);
    if (refusals === undefined) onDone();
  };
  const arePinned = sessions.every(({ isPinned }) => isPinned);
  const arePrivate = sessions.every(({ visibility }) => visibility === 'PRIVATE');
  const props = { sessions, onDone };
  return (
    <div class="chosen row" role="group" aria-label="Chosen sessions">
      <strong>{counted(sessions.length, 'session')} chosen</strong>
      <Button onClick={() => void change('pinSession', { isPinned: !arePinned })}>{arePinned ? 'Unpin' : 'Pin'}</Button>
      <FormButton label="Change state" dialog={ChangeStates} props={props} />
      <Button onClick={() => void change('updateSession', { visibility: arePrivate ? 'PUBLIC' : 'PRIVATE' })}>
        {arePrivate ? 'Make public' : 'Make private'}
      </Button>
      <FormButton label="Delete…" dialog={DeleteSessions} props={props} />
      <Button onClick={onClear}>Choose none</Button>
      <FaultText text={fault} />
    </div>
  );
}

/** How many of the sessions were refused, and why the first one; undefined for none. */
function refusalsIn({ data, faults }: Answer<Readonly<Record<string, EachResult>>>, sessions: readonly Row[]) {
  if (!data) return faults[0]?.message;
  const refused = Object.values(data).flatMap((result, index) =>
    result?.__typename.endsWith('Payload') ? [] : [{ title: sessions[index]?.title, message: result?.message }],
  );
  const [first] = refused;
  return (
    first &&
    `${refused.length} of ${sessions.length} sessions not changed. ${first.title}: ${first.message ?? faults[0]?.message}`
  );
}

/** What a form shows of the results: those of the last session, or the refusals. */
async function sendEach(
  mutation: 'transitionSession' | 'deleteSession',
  sessions: readonly Row[],
  input: object = {},
): Promise<Answer<{ readonly each: { readonly __typename: 'EachPayload' } | null }>> {
  const answer = await runOnEach(
    mutation,
    sessions.map(({ id: sessionId }) => ({ sessionId, ...input })),
  );
  const message = refusalsIn(answer, sessions);
  if (message === undefined) return { data: { each: { __typename: 'EachPayload' } }, faults: [] };
  return { data: null, faults: [{ message }] };
}

const STATES: readonly Row['state']['current'][] = ['CANCELLED', 'COMPLETED', 'FAILED', 'QUEUED', 'IN_PROGRESS'];
const STATE_CHOICES = STATES.map((state) => [state, wordsOf(state)] as const);

function ChangeStates({ sessions, onDone, onClose }: ChosenProps & DialogProps) {
  const form = useForm({
    initial: { state: STATES[0] ?? 'CANCELLED' },
    send: ({ state }) => sendEach('transitionSession', sessions, { state }),
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
    send: () => sendEach('deleteSession', sessions),
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
            Deleting {counted(preview.sessions, 'session')} deletes everything in{' '}
            {preview.sessions === 1 ? 'it' : 'them'}, for everybody. This cannot be undone.
            {preview.held.length > 0 && ` Held by an administrator, and left: ${preview.held.length}.`}
          </p>
          <Counts counts={[['Events', preview.events]]} />
        </>
      )}
    </FormDialog>
  );
}
