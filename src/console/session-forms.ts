import type { VNode } from 'preact';
import { run } from './api.ts';
import { useScope } from './caller.ts';
import { SelectField, TextField, useField } from './form-fields.ts';
import type { DialogProps } from './form-button.ts';
import { FormDialog, useForm } from './form.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { goTo } from './navigation.ts';
import { confirmDone } from './notices.ts';
import type { Answers, Variables } from './operation-types.ts';
import { Faults, Loading, wordsOf } from './parts.ts';

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
export function CreateSession({ onClose }: DialogProps): VNode {
  const form = useForm({
    initial: EMPTY,
    send: (values, { idempotencyKey }) => run('CreateSession', { input: inputOf(values) }, { idempotencyKey }),
    onDone: ({ session }) => {
      onClose();
      confirmDone('The session was created. It is queued until a runner records it.');
      if (session) goTo(`/sessions/${session.databaseId}`);
    },
  });
  return html`<${FormDialog} title="New session" submit="Create" form=${form} onClose=${onClose}><${Fields} /><//>`;
}

function Fields(): VNode {
  return html`<${TextField} name="title" label="Title" isRequired />
    <${TextField} name="description" label="Description" rows=${5} help="The task, as plain text." />
    <${SelectField} name="visibility" label="Who can read it" choices=${VISIBILITIES} />
    <${TextField} name="agent" label="Agent" help="The name of the agent that works on it." />
    <${SelectField} name="mode" label="Mode" choices=${MODES} />
    <${TextField} name="baseBranch" label="Base branch" help="Where the work starts from." />
    <${TextField} name="branchName" label="Branch" help="Where the agent works." />
    <${TextField} name="targetBranch" label="Target branch" help="What the changes are merged into." />
    ${useScope('MCP_CONNECTIONS_READ') && html`<${ConnectionsField} />`}`;
}

/** The MCP connections that the agent can use. */
function ConnectionsField(): VNode {
  const [{ value, set, id, ...rest }, below] = useField('mcpServers');
  const { data, faults, isLoading, paused } = useQuery('McpServerChoices', {});
  const chosen = value as readonly string[];
  const toggle = (one: string) => set(chosen.includes(one) ? chosen.filter((each) => each !== one) : [...chosen, one]);
  const servers = data?.viewer.organization?.mcpServers?.nodes ?? [];
  return html`<fieldset
    class="field"
    id=${id}
    tabindex="-1"
    data-invalid=${rest['aria-invalid']}
    aria-describedby=${rest['aria-describedby']}
  >
    <legend>MCP connections</legend>
    ${isLoading && !data && html`<${Loading} paused=${paused} />`}<${Faults} faults=${faults} />
    ${servers.map(
      ({ databaseId, name }) =>
        html`<label key=${databaseId} class="check"
          ><input type="checkbox" checked=${chosen.includes(databaseId)} onChange=${() => toggle(databaseId)} /><span
            >${name}</span
          ></label
        >`,
    )}
    ${data && servers.length === 0 && html`<span class="soft">There are none yet.</span>`} ${below}
  </fieldset>`;
}

interface EditProps extends DialogProps {
  readonly id: string;
  readonly onChange: () => void;
}

/** Reads the session first: lists do not have all fields, and may be old. */
export function EditSession({ id, onChange, onClose }: EditProps): VNode {
  const { data, faults, reload } = useQuery('SessionForm', { id });
  const session = data?.session;
  if (!session) return faults.length > 0 ? html`<${Faults} faults=${faults} />` : html`<${Loading} />`;
  return html`<${LoadedDialog} session=${session} reload=${reload} onChange=${onChange} onClose=${onClose} />`;
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

function LoadedDialog({ session, reload, onChange, onClose }: LoadedProps): VNode {
  const values = valuesOf(session);
  const form = useForm({
    initial: values,
    current: { updatedAt: session.updatedAt, values },
    onConflict: reload,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const input = { sessionId: session.id, expectedUpdatedAt, ...inputOf(changed) };
      return run('UpdateSession', { input }, { idempotencyKey });
    },
    onDone: () => {
      onClose();
      onChange();
      confirmDone('The session was changed.');
    },
  });
  return html`<${FormDialog} title="Edit the session" submit="Save" form=${form} onClose=${onClose}><${Fields} /><//>`;
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

export function ChangeState({ id, state: current, onChange, onClose }: StateProps): VNode {
  const choices = MOVES[current];
  const form = useForm({
    initial: { state: choices[0]?.[0] ?? current },
    send: ({ state }, { idempotencyKey }) => run('TransitionSession', { id, state }, { idempotencyKey }),
    onDone: () => {
      onClose();
      onChange();
      confirmDone(`The session is ${wordsOf(form.values.state).toLowerCase()}.`);
    },
  });
  return html`<${FormDialog} title="Change the state" submit="Change state" form=${form} onClose=${onClose}>
    <p>The session is ${wordsOf(current).toLowerCase()}. A finished session takes no events.</p>
    <${SelectField} name="state" label="New state" choices=${choices} />
  <//>`;
}
