import { run } from '../parts/api.ts';
import { useScope } from '../parts/caller.ts';
import { SelectField, TextField, useField } from '../parts/form-fields.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { goTo } from '../parts/navigation.ts';
import { confirmDone, finish } from '../parts/notices.tsx';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { Faults, Loading, wordsOf } from '../parts/parts.tsx';

type Input = Variables['CreateSession']['input'];
type Session = NonNullable<Answers['SessionForm']['session']>;
type StateName = Session['state']['current'];

const VISIBILITIES = [
  ['PRIVATE', 'Private: its creator and administrators'],
  ['PUBLIC', 'Public: everybody in the organization'],
] as const;
const MODES = [
  ['NORMAL', 'Normal'],
  ['PLANNING', 'Planning'],
] as const;

/** Texts that the API clears with null. */
const CLEARABLE = ['description', 'agent', 'baseBranch', 'branchName', 'targetBranch'] as const;

const EMPTY = {
  title: '',
  description: '',
  visibility: 'PRIVATE' as NonNullable<Input['visibility']>,
  mode: 'NORMAL' as NonNullable<Input['mode']>,
  agent: '',
  baseBranch: '',
  branchName: '',
  targetBranch: '',
  mcpServers: [] as readonly string[],
};
type Values = typeof EMPTY;

/** The values as they are sent: an empty text is none. */
function inputOf<Given extends Partial<Values>>(values: Given) {
  const cleared = CLEARABLE.filter((name) => values[name] === '').map((name) => [name, null] as const);
  const nulls: Partial<Record<(typeof CLEARABLE)[number], null>> = Object.fromEntries(cleared);
  return { ...values, ...nulls };
}

/** The form that creates a session. */
export function CreateSession({ onClose }: DialogProps) {
  const form = useForm({
    boundsOf: 'CreateSession',
    initial: EMPTY,
    send: (values, { idempotencyKey }) => run('CreateSession', { input: inputOf(values) }, { idempotencyKey }),
    onDone: ({ session }) => {
      onClose();
      confirmDone('The session was created. It is queued until a runner records it.');
      if (session) goTo(`/sessions/${session.databaseId}`);
    },
  });
  return (
    <FormDialog title="New session" submit="Create" form={form} onClose={onClose}>
      <Fields />
    </FormDialog>
  );
}

const Fields = () => (
  <>
    <TextField name="title" label="Title" isRequired />
    <TextField name="description" label="Description" rows={5} help="The task, as plain text." />
    <SelectField name="visibility" label="Who can read it" choices={VISIBILITIES} />
    <TextField name="agent" label="Agent" help="The name of the agent that works on it." />
    <SelectField name="mode" label="Mode" choices={MODES} />
    <TextField name="baseBranch" label="Base branch" help="Where the work starts from." />
    <TextField name="branchName" label="Branch" help="Where the agent works." />
    <TextField name="targetBranch" label="Target branch" help="What the changes are merged into." />
    {useScope('MCP_CONNECTIONS_READ') && <ConnectionsField />}
  </>
);

/** The MCP connections that the agent can use. */
function ConnectionsField() {
  const [{ value: chosen, set, id, ...rest }, below] = useField<readonly string[]>('mcpServers');
  const { data, faults, isLoading, paused } = useQuery('McpServerChoices', {});
  const toggle = (one: string) => set(chosen.includes(one) ? chosen.filter((each) => each !== one) : [...chosen, one]);
  const servers = data?.viewer.organization?.mcpServers?.nodes ?? [];
  return (
    <fieldset
      class="field"
      id={id}
      tabindex={-1}
      data-invalid={rest['aria-invalid']}
      aria-describedby={rest['aria-describedby']}
    >
      <legend>MCP connections</legend>
      {isLoading && !data && <Loading paused={paused} />}
      <Faults faults={faults} />
      {servers.map(({ databaseId, name }) => (
        <label key={databaseId} class="check">
          <input type="checkbox" checked={chosen.includes(databaseId)} onChange={() => toggle(databaseId)} />
          <span>{name}</span>
        </label>
      ))}
      {data && servers.length === 0 && <span class="soft">There are none yet.</span>} {below}
    </fieldset>
  );
}

interface EditProps extends DialogProps {
  readonly id: string;
  readonly onChange: () => void;
}

/** Reads the session first: lists do not have all fields, and may be old. */
export function EditSession({ id, onChange, onClose }: EditProps) {
  const { data, faults, reload } = useQuery('SessionForm', { id });
  const session = data?.session;
  if (!session) return faults.length > 0 ? <Faults faults={faults} /> : <Loading />;
  return <LoadedDialog session={session} reload={reload} onChange={onChange} onClose={onClose} />;
}

function valuesOf(session: Session): Values {
  const { title, description, visibility, mode, agent, baseBranch, branchName, targetBranch, mcpServers } = session;
  return {
    title,
    visibility,
    mode,
    description: description ?? '',
    agent: agent ?? '',
    baseBranch: baseBranch ?? '',
    branchName: branchName ?? '',
    targetBranch: targetBranch ?? '',
    mcpServers: (mcpServers ?? []).map(({ databaseId }) => databaseId),
  };
}

interface LoadedProps extends Omit<EditProps, 'id'> {
  readonly session: Session;
  readonly reload: () => void;
}

function LoadedDialog({ session, reload, onChange, onClose }: LoadedProps) {
  const values = valuesOf(session);
  const form = useForm({
    boundsOf: 'UpdateSession',
    initial: values,
    current: { updatedAt: session.updatedAt, values },
    onConflict: reload,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const input = { sessionId: session.id, expectedUpdatedAt, ...inputOf(changed) };
      return run('UpdateSession', { input }, { idempotencyKey });
    },
    onDone: () => finish('The session was changed.', onClose, onChange),
  });
  return (
    <FormDialog title="Edit the session" submit="Save" form={form} onClose={onClose}>
      <Fields />
    </FormDialog>
  );
}

/** Where a session can go from each state, and what follows. */
const MOVES: Readonly<Record<StateName, readonly (readonly [state: StateName, name: string])[]>> = {
  QUEUED: [
    ['CANCELLED', 'Canceled: no runner takes it'],
    ['IN_PROGRESS', 'In progress: it is being worked on'],
  ],
  IN_PROGRESS: [
    ['CANCELLED', 'Canceled: its runner can record nothing more'],
    ['COMPLETED', 'Completed: it has reached its end'],
    ['FAILED', 'Failed: it has ended without success'],
  ],
  COMPLETED: [['QUEUED', 'Queued: a runner can take it again']],
  FAILED: [['QUEUED', 'Queued: a runner can take it again']],
  CANCELLED: [['QUEUED', 'Queued: a runner can take it again']],
};

interface StateProps extends EditProps {
  readonly state: StateName;
}

export function ChangeState({ id, state: current, onChange, onClose }: StateProps) {
  const choices = MOVES[current];
  const form = useForm({
    initial: { state: choices[0]?.[0] ?? current },
    send: ({ state }, { idempotencyKey }) => run('TransitionSession', { id, state }, { idempotencyKey }),
    onDone: () => finish(`The session is ${wordsOf(form.values.state).toLowerCase()}.`, onClose, onChange),
  });
  return (
    <FormDialog title="Change the state" submit="Change state" form={form} onClose={onClose}>
      <p>The session is {wordsOf(current).toLowerCase()}. A finished session takes no events.</p>
      <SelectField name="state" label="New state" choices={choices} />
    </FormDialog>
  );
}
