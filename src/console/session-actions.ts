import type { VNode } from 'preact';
import { FormButton } from './form-button.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';

type Session = Pick<
  Extract<Answers['SessionChange']['sessionChange'], { __typename: 'SessionChanged' }>['session'],
  'id' | 'state' | 'viewerCanUpdate' | 'viewerCanRecord'
>;

const CREATE = async () => (await import('./session-forms.ts')).CreateSession;
const EDIT = async () => (await import('./session-forms.ts')).EditSession;
const CHANGE_STATE = async () => (await import('./session-forms.ts')).ChangeState;

/** The button and form that create a session. */
export function CreateSessionButton(): VNode {
  return html`<${FormButton} label="New session" isPlain=${false} load=${CREATE} props=${{}} />`;
}

interface SessionFormsProps {
  readonly session: Session;
  readonly onChange: () => void;
}

/** The buttons and forms that change a session and its state. */
export function SessionForms({ session, onChange }: SessionFormsProps): VNode {
  const { id, state } = session;
  const props = { id, state: state.current, onChange };
  return html`${session.viewerCanUpdate && html`<${FormButton} label="Edit" load=${EDIT} props=${props} />`}
  ${session.viewerCanRecord && html`<${FormButton} label="Change state" load=${CHANGE_STATE} props=${props} />`}`;
}
