import type { VNode } from 'preact';
import { run } from './api.ts';
import { FormButton } from './form-button.ts';
import { refusalOf } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action } from './parts.ts';

type Session = Pick<
  NonNullable<Answers['Session']['session']>,
  'id' | 'hold' | 'viewerCanUpdate' | 'viewerCanDelete' | 'viewerCanHold'
>;

const DELETE = async () => (await import('./session-keeping-forms.ts')).DeleteSession;
const HOLD = async () => (await import('./session-keeping-forms.ts')).HoldSession;

interface Props {
  readonly session: Session;
  readonly onChange: () => void;
}

/** The buttons that hold, release and delete a session. */
export function SessionKeeping({ session, onChange }: Props): VNode {
  const { id, hold, viewerCanHold, viewerCanUpdate, viewerCanDelete } = session;
  const release = async () => {
    const { data, faults } = await run('ReleaseSession', { id });
    onChange();
    return refusalOf(data?.releaseSession, faults);
  };
  const question = 'Release the session? It can then be deleted and redacted again.';
  // Whoever could delete it otherwise sees why it cannot be deleted while it is held.
  const isOffered = viewerCanDelete || (hold !== null && viewerCanUpdate);
  return html`${viewerCanHold && hold === null && html`<${FormButton} label="Hold…" load=${HOLD} props=${{ id, onChange }} />`}
  ${viewerCanHold && hold !== null && html`<${Action} label="Release" confirm=${question} run=${release} />`}
  ${isOffered && html`<${FormButton} label="Delete…" load=${DELETE} props=${{ id }} />`}`;
}
