import { useScope } from '../parts/caller.ts';
import { mutate } from '../parts/hooks.ts';
import { Action } from '../parts/parts.tsx';
import { FormButton } from '../parts/form-button.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { CreateSession, EditSession, ChangeState } from './session-forms.tsx';

type Session = Pick<
  Extract<Answers['SessionChange']['sessionChange'], { __typename: 'SessionChanged' }>['session'],
  'id' | 'state' | 'handled' | 'viewerCanUpdate' | 'viewerCanRecord'
>;

/** The button and form that create a session. */
export const CreateSessionButton = () => (
  <FormButton label="New session" isPlain={false} dialog={CreateSession} props={{}} />
);

interface SessionFormsProps {
  readonly session: Session;
  readonly onChange: () => void;
}

/** The buttons and forms that change a session and its state. */
export function SessionForms({ session, onChange }: SessionFormsProps) {
  const { id, state, handled } = session;
  const canMark = useScope('SESSIONS_WRITE') && state.current === 'FAILED';
  const mark = () => mutate('MarkSessionHandled', { id, isHandled: handled === null }, onChange);
  const props = { id, state: state.current, onChange };
  return (
    <>
      {session.viewerCanUpdate && <FormButton label="Edit" dialog={EditSession} props={props} />}
      {canMark && <Action label={handled ? 'Needs a person again' : 'Mark as handled'} run={mark} />}
      {session.viewerCanRecord && <FormButton label="Change state" dialog={ChangeState} props={props} />}
    </>
  );
}
