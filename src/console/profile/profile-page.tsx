import { CheckField } from '../parts/filters.tsx';
import { singleKeys } from '../parts/keys.ts';
import { useEffect, useState } from 'preact/hooks';
import { endedBy, run } from '../parts/api.ts';
import { counted } from '../parts/amounts.ts';
import { useScope } from '../parts/caller.ts';
import { ConnectedApps } from './connected-apps.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { type Pages, mutate, refusalOf, usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import type { Separate } from '../organizations/organization-forms.tsx';
import {
  Action,
  Badge,
  Empty,
  Facts,
  Faults,
  List,
  Loading,
  PageFrame,
  Secret,
  Table,
  Time,
  roleName,
  TimeCell,
} from '../parts/parts.tsx';
import { type FollowState, follow } from '../parts/streams.ts';
import { EditProfile, DeleteAccount } from './profile-forms.tsx';
import { CreateOrganization } from '../organizations/organization-forms.tsx';

type Viewer = Answers['Profile']['viewer'];
type Organization = Viewer['organizations']['nodes'][number];
type SignIn = NonNullable<Answers['SignIns']['viewer']['signIns']>['nodes'][number];
const SUBJECTS: Readonly<Record<Job['kind'], string>> = {
  ACCOUNT: 'Your account',
  ORGANIZATION: 'An organization',
  OBJECT: 'Occurrences of an object',
  MEMBER_DATA: 'Private sessions of a person',
  REDACTION: 'A text in all sessions, redacted',
};

type Job = NonNullable<Answers['DeletionJobs']['viewer']['deletionJobs']>['nodes'][number];

/** The person who is signed in. The only page that needs no organization. */
export function ProfilePage() {
  const { data, faults, isLoading, paused, reload } = useQuery('Profile', {});
  const mayChange = useScope('ORGANIZATIONS_WRITE');
  const mayDelete = useScope('USERS_DELETE');
  const seesSignIns = useScope('API_KEYS_READ');
  const jobs = usePages('DeletionJobs', { first: 20 }, ({ viewer }) => viewer.deletionJobs);
  const viewer = data?.viewer;
  const changed = () => {
    reload();
    jobs.reload();
  };
  if (!viewer?.user) {
    return (
      <PageFrame title="Profile">
        <Faults faults={faults} />
        {isLoading && <Loading paused={paused} />}
      </PageFrame>
    );
  }
  const { user } = viewer;
  const props = { viewer: { ...viewer, user }, onDone: changed };
  return (
    <PageFrame title="Profile" actions={mayChange && <FormButton label="Edit" dialog={EditProfile} props={props} />}>
      <Faults faults={faults} />
      <Facts
        facts={[
          ['Name', user.name ?? <span class="soft">none yet</span>],
          ['E-mail address', user.email],
          ['Account since', <Time at={user.createdAt} />],
        ]}
      />
      <Organizations viewer={viewer} mayCreate={mayChange} />
      {seesSignIns && (
        <>
          <Identities />
          <SignIns />
          {viewer.organizations.nodes.length > 0 && <ConnectedApps />}
        </>
      )}
      {(mayChange || mayDelete) && jobs.rows.length > 0 && <Deletions list={jobs} mayCancel={mayDelete} />}
      <SingleKeys />
      {mayDelete && (
        <>
          <h2>Account</h2>
          <p class="soft">Deleting your account shows first what is lost with it.</p>
          <FormButton label="Delete my account…" dialog={DeleteAccount} props={props} />
        </>
      )}
    </PageFrame>
  );
}

function SingleKeys() {
  const [areOn, setOn] = useState(singleKeys.areOn);
  const change = (value: string) => {
    singleKeys.turn(value !== '');
    setOn(value !== '');
  };
  return (
    <>
      <h2>Keyboard</h2>
      <CheckField label="Shortcuts of one key, in this browser" value={areOn ? 'yes' : ''} onChange={change} />
    </>
  );
}

interface OrganizationsProps {
  readonly viewer: Viewer;
  readonly mayCreate: boolean;
}

function Organizations({ viewer: { apiKey, organizations }, mayCreate }: OrganizationsProps) {
  const [made, setMade] = useState<Separate>();
  const { nodes } = organizations;
  const row = ({ id, databaseId, name, slug, viewerRole, memberCount }: Organization) => (
    <tr key={id}>
      <td class="wide">
        <a href={`/sessions?organization=${slug ?? databaseId}`}>{name}</a>
        <div class="soft">{slug && <code>{slug}</code>}</div>
      </td>
      <td>{viewerRole && roleName(viewerRole)}</td>
      <td class="number">{memberCount}</td>
    </tr>
  );
  return (
    <>
      <div class="section-head">
        <h2>Organizations</h2>
        {mayCreate && (
          <FormButton label="New organization" dialog={CreateOrganization} props={{ onCreated: setMade }} />
        )}
      </div>
      {made && <NewOrganization made={made} />}
      {nodes.length > 0 ? (
        <Table label="Organizations" head={['Organization', 'Your role', 'Members']} rows={nodes} row={row} />
      ) : (
        <Empty>
          You belong to no organization. Create one, or <a href="/invitations/accept">accept an invitation</a>.
        </Empty>
      )}
      {apiKey.organization && (
        <p class="soft">You are signed in with a key of this organization. Your others are not listed.</p>
      )}
    </>
  );
}

function NewOrganization({ made: { name, key } }: { readonly made: Separate }) {
  if (key === null) return <p role="status">The organization “{name}” was created.</p>;
  return <Secret label={`The organization “${name}” was created. Sign in with this key to open it.`} value={key} />;
}

/** The identity providers that this person signs in with. */
function Identities() {
  const { data, faults } = useQuery('Identities', {});
  const identities = data?.viewer.identities ?? [];
  if (faults.length > 0) return <Faults faults={faults} />;
  if (identities.length === 0) return null;
  const row = ({ issuer, createdAt, lastSignedInAt }: (typeof identities)[number]) => (
    <tr key={issuer}>
      <td class="wide">{issuer}</td>
      <TimeCell at={createdAt} />
      <TimeCell at={lastSignedInAt} />
    </tr>
  );
  return (
    <>
      <h2>Identity provider</h2>
      <Table label="Identities" head={['Identity provider', 'Since', 'Last sign-in']} rows={identities} row={row} />
    </>
  );
}

/** Where this person is signed in, and how. */
function SignIns() {
  const list = usePages('SignIns', { first: 20 }, ({ viewer }) => viewer.signIns);
  const mayEnd = useScope('API_KEYS_WRITE');
  const row = ({ id, isCurrent, name, preview, createdAt, lastUsedAt, expiresAt }: SignIn) => {
    const end = () => mutate('RevokeApiKey', { id }, list.reload);
    return (
      <tr key={id}>
        <td class="wide">
          {preview === '' ? name : `With the key “${name}”`} {isCurrent && <div class="soft">this browser</div>}
        </td>
        <TimeCell at={createdAt} />
        <td>{lastUsedAt !== null && <Time at={lastUsedAt} />}</td>
        <td>{expiresAt !== null && <Time at={expiresAt} />}</td>
        <td class="end">{mayEnd && <Action label="Sign out" run={end} />}</td>
      </tr>
    );
  };
  return (
    <>
      <h2>Sign-ins</h2>
      <List
        label="Sign-ins"
        list={list}
        row={row}
        empty="No browser is signed in."
        head={['Signed in', 'Since', 'Last used', 'Until', '']}
      />
    </>
  );
}

interface DeletionsProps {
  readonly list: Pages<Job>;
  readonly mayCancel: boolean;
}

const redacted = ({ redactedSessions, heldSessions }: Job) =>
  `${counted(redactedSessions ?? 0, 'session')} changed, ${counted(heldSessions ?? 0, 'held session')} left`;

/** The deletions that this person has requested, and how far they are. */
function Deletions({ list, mayCancel }: DeletionsProps) {
  const { rows, update, reload } = list;
  const open = rows.filter(({ finishedAt }) => finishedAt === null).map(({ id }) => id);
  useEffect(() => {
    const onData = ({ deletionJobChanged: job }: Answers['DeletionJobChanged']) =>
      update((before) => before.map((each) => (each.id === job.id ? job : each)));
    // When the deletion begins, the sign-in ends, and with it the subscription: the next request leads to the sign-in page.
    const onState = (state: FollowState) => {
      if (state === 'refused' || state === 'gone') reload();
    };
    const ends = open.map((id) => follow('DeletionJobChanged', { id }, { onData, onState }));
    return () => {
      for (const end of ends) end();
    };
  }, [open.join(' '), update]);
  const row = (job: Job) => {
    const cancel = async () => {
      const { data, faults } = await run('CancelUserDeletion', { id: job.id });
      endedBy.take();
      reload();
      return refusalOf(data?.cancelUserDeletion, faults);
    };
    const isCancelable = mayCancel && job.kind === 'ACCOUNT' && job.state === 'QUEUED';
    return (
      <tr key={job.id}>
        <td class="wide">
          {SUBJECTS[job.kind]}{' '}
          {job.kind === 'REDACTION' && job.state === 'DONE' && <div class="soft">{redacted(job)}</div>}
          {job.error !== null && <div class="fault">{job.error}</div>}
        </td>
        <td>
          <Badge value={job.state} />
        </td>
        <TimeCell at={job.createdAt} />
        <TimeCell at={job.finishedAt ?? job.runAfter} />
        <td class="end">{isCancelable && <Action label="Cancel the deletion" run={cancel} />}</td>
      </tr>
    );
  };
  return (
    <>
      <h2>Deletions</h2>
      <List label="Deletions" list={list} row={row} head={['Deletion of', 'State', 'Requested', 'Due or ended', '']} />
    </>
  );
}
