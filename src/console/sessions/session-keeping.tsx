import { FormButton } from '../parts/form-button.tsx';
import { mutate } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action } from '../parts/parts.tsx';
import { DeleteSession, HoldSession } from './session-keeping-forms.tsx';

type Session = Pick<
  NonNullable<Answers['Session']['session']>,
  'id' | 'hold' | 'viewerCanUpdate' | 'viewerCanDelete' | 'viewerCanHold'
>;

interface Props {
  readonly session: Session;
  readonly onChange: () => void;
}

/** The buttons that hold, release and delete a session. */
export function SessionKeeping({ session, onChange }: Props) {
  const { id, hold, viewerCanHold, viewerCanUpdate, viewerCanDelete } = session;
  const release = () => mutate('ReleaseSession', { id }, onChange);
  const question = 'Release the session? It can then be deleted and redacted again.';
  // Whoever could delete it otherwise sees why it cannot be deleted while it is held.
  const isOffered = viewerCanDelete || (hold !== null && viewerCanUpdate);
  return (
    <>
      {viewerCanHold && hold === null && <FormButton label="Hold…" dialog={HoldSession} props={{ id, onChange }} />}
      {viewerCanHold && hold !== null && <Action label="Release" confirm={question} run={release} />}
      {isOffered && <FormButton label="Delete…" dialog={DeleteSession} props={{ id }} />}
    </>
  );
}
