// Compiled by `npm run check:types`, and never run: each use of a component below has a fault that the compiler must report.
import { RedactText } from '../../src/console/sessions/redaction-forms.tsx';
import { FormButton } from '../../src/console/parts/form-button.tsx';
import { TextField } from '../../src/console/parts/form-fields.tsx';
import { usePages } from '../../src/console/parts/hooks.ts';
import { Action, Empty, Facts, List } from '../../src/console/parts/parts.tsx';

const ofText = { sessionId: '1', marked: '', onDone: () => undefined };

export function Faulty() {
  const list = usePages(
    'OwnInvitations',
    {},
    ({ viewer }) => viewer.invitations && { ...viewer.invitations, pageInfo },
  );
  return (
    <>
      <FormButton label="Redact" dialog={RedactText} props={ofText} />
      {/* @ts-expect-error an unknown property */}
      <FormButton lable="Redact" dialog={RedactText} props={ofText} />
      {/* @ts-expect-error an unknown property beside the right one */}
      <FormButton label="Redact" lable="Redact" dialog={RedactText} props={ofText} />
      {/* @ts-expect-error an unknown property of the dialog */}
      <FormButton label="Redact" dialog={RedactText} props={{ ...ofText, markd: '' }} />
      {/* @ts-expect-error a property of another type */}
      <FormButton label={42} dialog={RedactText} props={ofText} />
      {/* @ts-expect-error a missing property */}
      <FormButton dialog={RedactText} props={ofText} />
      {/* @ts-expect-error a missing property of the dialog */}
      <FormButton label="Redact" dialog={RedactText} props={{ sessionId: '1', marked: '' }} />
      {/* @ts-expect-error an unknown type of a field */}
      <TextField name="name" label="Name" type="txt" />
      {/* @ts-expect-error a promise in the place of a function */}
      <Action label="Export" run={Promise.resolve(undefined)} />
      {/* @ts-expect-error no children */}
      <Empty command="ls" />
      {/* @ts-expect-error an object, of which nothing would be shown */}
      <Empty>{{ text: 'Nothing' }}</Empty>
      {/* @ts-expect-error an object, of which nothing would be shown */}
      <Facts facts={[['Created', { at: 'today' }]]} />
      {/* @ts-expect-error a row of another list */}
      <List label="Invitations" list={list} head={['To']} row={({ url }: { readonly url: string }) => <tr>{url}</tr>} />
      {/* @ts-expect-error an unknown attribute of an element */}
      <p clas="soft">Nothing</p>
    </>
  );
}

const pageInfo = { hasNextPage: false, endCursor: null };
