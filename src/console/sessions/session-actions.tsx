import { useScope } from '../parts/caller.ts';
import { FileExport } from '../parts/file-export.tsx';
import { mutate } from '../parts/hooks.ts';
import { Action } from '../parts/parts.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { Menu } from '../parts/row-actions.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { RedactTextButton } from './redaction.tsx';
import { CreateSession, EditSession, ChangeState } from './session-forms.tsx';
import { DeleteSession, HoldSession } from './session-keeping-forms.tsx';

type Listed = Pick<
  Extract<Answers['SessionChange']['sessionChange'], { __typename: 'SessionChanged' }>['session'],
  'id' | 'state' | 'handled' | 'isPinned' | 'viewerCanUpdate' | 'viewerCanRecord'
>;

/** The button and form that create a session. */
export const CreateSessionButton = () => (
  <FormButton label="New session" isPlain={false} dialog={CreateSession} props={{}} />
);

interface Props<Shown> {
  readonly session: Shown;
  readonly onChange: () => void;
}

/** What can be done with a session of a list. */
export const ListedSessionActions = (props: Props<Listed>) => (
  <>
    <Edit {...props} />
    <Mark {...props} />
    <Changes {...props} />
  </>
);

const Edit = ({
  session: { id, viewerCanUpdate },
  onChange,
  ...rest
}: Props<Listed> & { readonly isPlain?: boolean }) =>
  viewerCanUpdate && <FormButton label="Edit" {...rest} dialog={EditSession} props={{ id, onChange }} />;

const useMarking = ({ state }: Pick<Listed, 'state'>) => useScope('SESSIONS_WRITE') && state.current === 'FAILED';

function Mark({ session, onChange, ...rest }: Props<Listed> & { readonly isPlain?: boolean }) {
  const { id, handled } = session;
  const mark = () => mutate('MarkSessionHandled', { id, isHandled: handled === null }, onChange);
  return (
    useMarking(session) && <Action label={handled ? 'Needs a person again' : 'Mark as handled'} {...rest} run={mark} />
  );
}

/** Changes of the state and the pin. */
function Changes({ session: { id, state, isPinned, viewerCanUpdate, viewerCanRecord }, onChange }: Props<Listed>) {
  const pin = () => mutate('PinSession', { id, isPinned: !isPinned }, onChange);
  const props = { id, state: state.current, onChange };
  return (
    <>
      {viewerCanRecord && <FormButton label="Change state" dialog={ChangeState} props={props} />}
      {viewerCanUpdate && <Action label={isPinned ? 'Unpin' : 'Pin'} run={pin} />}
    </>
  );
}

type Session = NonNullable<Answers['Session']['session']>;

/** What can be done with the session of a page: what is most likely, and the rest in a menu, in which the deletion stands apart. */
export function SessionActions(props: Props<Session>) {
  const { session, onChange } = props;
  const { id, databaseId, hold, viewerCanHold, viewerCanUpdate, viewerCanDelete } = session;
  const needsPerson = useMarking(session) && session.handled === null;
  const release = () => mutate('ReleaseSession', { id }, onChange);
  const question = 'Release the session? It can then be deleted and redacted again.';
  // Whoever could delete it otherwise sees why it cannot be deleted while it is held.
  const isDeletable = viewerCanDelete || (hold !== null && viewerCanUpdate);
  return (
    <div class="actions">
      {needsPerson ? <Mark {...props} isPlain={false} /> : <Edit {...props} isPlain={false} />}
      <Menu>
        {/* A phone has no room beside the title. */}
        <div class={needsPerson ? '' : 'doubled'}>
          <Edit {...props} />
        </div>
        <div class={needsPerson ? 'doubled' : ''}>
          <Mark {...props} />
        </div>
        <Changes {...props} />
        <Exports id={databaseId} />
        {viewerCanDelete && <RedactTextButton sessionId={databaseId} onDone={onChange} />}
        {viewerCanHold && hold === null && <FormButton label="Hold…" dialog={HoldSession} props={{ id, onChange }} />}
        {viewerCanHold && hold !== null && <Action label="Release" confirm={question} run={release} />}
        {isDeletable && (
          <div class="apart">
            <FormButton label="Delete…" dialog={DeleteSession} props={{ id }} />
          </div>
        )}
      </Menu>
    </div>
  );
}

const FILES = [
  ['markdown', 'md', 'Export as Markdown'],
  ['ndjson', 'ndjson', 'Export as NDJSON'],
] as const;

const Exports = ({ id }: { readonly id: string }) =>
  FILES.map(([format, extension, label]) => (
    <FileExport
      key={format}
      label={label}
      path={`/v1/sessions/${id}/export?format=${format}`}
      name={`session-${id}.${extension}`}
    />
  ));
