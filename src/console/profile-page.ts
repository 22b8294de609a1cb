import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { endedBy, run } from './api.ts';
import { useScope } from './caller.ts';
import { ConnectedApps } from './connected-apps.ts';
import { FormButton } from './form-button.ts';
import { type Pages, refusalOf, usePages, useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import type { Separate } from './organization-forms.ts';
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
} from './parts.ts';
import { type FollowState, follow } from './streams.ts';

type Viewer = Answers['Profile']['viewer'];
type Organization = Viewer['organizations']['nodes'][number];
type SignIn = NonNullable<Answers['SignIns']['viewer']['signIns']>['nodes'][number];
const subjectOf = ({ deletedOrganizationId, isOfObject }: Job) =>
  isOfObject ? 'Occurrences of an object' : deletedOrganizationId === null ? 'Your account' : 'An organization';

type Job = NonNullable<Answers['DeletionJobs']['viewer']['deletionJobs']>['nodes'][number];

const EDIT = async () => (await import('./profile-forms.ts')).EditProfile;
const DELETE = async () => (await import('./profile-forms.ts')).DeleteAccount;
const CREATE = async () => (await import('./organization-forms.ts')).CreateOrganization;

/** The person who is signed in. The only page that needs no organization. */
export function ProfilePage(): VNode {
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
    return html`<${PageFrame} title="Profile">
      <${Faults} faults=${faults} />${isLoading && html`<${Loading} paused=${paused} />`}
    <//>`;
  }
  const { user } = viewer;
  const props = { viewer: { ...viewer, user }, onDone: changed };
  return html`<${PageFrame}
    title="Profile"
    actions=${mayChange && html`<${FormButton} label="Edit" load=${EDIT} props=${props} />`}
  >
    <${Faults} faults=${faults} />
    <${Facts}
      facts=${[
        ['Name', user.name ?? html`<span class="soft">none yet</span>`],
        ['E-mail address', user.email],
        ['Account since', html`<${Time} at=${user.createdAt} />`],
      ]}
    />
    <${Organizations} viewer=${viewer} mayCreate=${mayChange} />
    ${seesSignIns && html`<${Identities} /><${SignIns} />${viewer.organizations.nodes.length > 0 && html`<${ConnectedApps} />`}`}
    ${(mayChange || mayDelete) && jobs.rows.length > 0 && html`<${Deletions} list=${jobs} mayCancel=${mayDelete} />`}
    ${
      mayDelete &&
      html`<h2>Account</h2>
        <p class="soft">Deleting your account shows first what is lost with it.</p>
        <${FormButton} label="Delete my account…" load=${DELETE} props=${props} />`
    }
  <//>`;
}

interface OrganizationsProps {
  readonly viewer: Viewer;
  readonly mayCreate: boolean;
}

function Organizations({ viewer: { apiKey, organizations }, mayCreate }: OrganizationsProps): VNode {
  const [made, setMade] = useState<Separate>();
  const { nodes } = organizations;
  const row = ({ id, databaseId, name, slug, viewerRole, memberCount }: Organization) =>
    html`<tr key=${id}>
      <td class="wide">
        <a href=${`/sessions?organization=${slug ?? databaseId}`}>${name}</a>
        <div class="soft">${slug && html`<code>${slug}</code>`}</div>
      </td>
      <td>${viewerRole && roleName(viewerRole)}</td>
      <td class="number">${memberCount}</td>
    </tr>`;
  return html`<div class="section-head">
      <h2>Organizations</h2>
      ${mayCreate && html`<${FormButton} label="New organization" load=${CREATE} props=${{ onCreated: setMade }} />`}
    </div>
    ${made && html`<${NewOrganization} made=${made} />`}
    ${
      nodes.length > 0
        ? html`<${Table}
            label="Organizations"
            head=${['Organization', 'Your role', 'Members']}
            rows=${nodes}
            row=${row}
          />`
        : html`<${Empty}
            >You belong to no organization. Create one, or <a href="/invitations/accept">accept an invitation</a>.<//
          >`
    }
    ${apiKey.organization && html`<p class="soft">You are signed in with a key of this organization. Your others are not listed.</p>`}`;
}

function NewOrganization({ made: { name, key } }: { readonly made: Separate }): VNode {
  if (key === null) return html`<p role="status">The organization “${name}” was created.</p>`;
  return html`<${Secret}
    label=${`The organization “${name}” was created. Sign in with this key to open it.`}
    value=${key}
  />`;
}

/** The identity providers that this person signs in with. */
function Identities(): VNode | null {
  const { data, faults } = useQuery('Identities', {});
  const identities = data?.viewer.identities ?? [];
  if (faults.length > 0) return html`<${Faults} faults=${faults} />`;
  if (identities.length === 0) return null;
  const row = ({ issuer, createdAt, lastSignedInAt }: (typeof identities)[number]) =>
    html`<tr key=${issuer}>
      <td class="wide">${issuer}</td>
      <td><${Time} at=${createdAt} /></td>
      <td><${Time} at=${lastSignedInAt} /></td>
    </tr>`;
  return html`<h2>Identity provider</h2>
    <${Table}
      label="Identities"
      head=${['Identity provider', 'Since', 'Last sign-in']}
      rows=${identities}
      row=${row}
    />`;
}

/** Where this person is signed in, and how. */
function SignIns(): VNode {
  const list = usePages('SignIns', { first: 20 }, ({ viewer }) => viewer.signIns);
  const mayEnd = useScope('API_KEYS_WRITE');
  const row = ({ id, isCurrent, name, preview, createdAt, lastUsedAt, expiresAt }: SignIn) => {
    const end = async () => {
      const { data, faults } = await run('RevokeApiKey', { id });
      list.reload();
      return refusalOf(data?.revokeApiKey, faults);
    };
    return html`<tr key=${id}>
      <td class="wide">
        ${preview === '' ? name : `With the key “${name}”`} ${isCurrent && html`<div class="soft">this browser</div>`}
      </td>
      <td><${Time} at=${createdAt} /></td>
      <td>${lastUsedAt !== null && html`<${Time} at=${lastUsedAt} />`}</td>
      <td>${expiresAt !== null && html`<${Time} at=${expiresAt} />`}</td>
      <td class="end">${mayEnd && html`<${Action} label="Sign out" run=${end} />`}</td>
    </tr>`;
  };
  return html`<h2>Sign-ins</h2>
    <${List}
      label="Sign-ins"
      list=${list}
      row=${row}
      empty=${html`<${Empty}>No browser is signed in.<//>`}
      head=${['Signed in', 'Since', 'Last used', 'Until', '']}
    />`;
}

interface DeletionsProps {
  readonly list: Pages<Job>;
  readonly mayCancel: boolean;
}

/** The deletions that this person has requested, and how far they are. */
function Deletions({ list, mayCancel }: DeletionsProps): VNode {
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
    const isCancelable = mayCancel && job.deletedOrganizationId === null && !job.isOfObject && job.state === 'QUEUED';
    return html`<tr key=${job.id}>
      <td class="wide">${subjectOf(job)} ${job.error !== null && html`<div class="fault">${job.error}</div>`}</td>
      <td><${Badge} value=${job.state} /></td>
      <td><${Time} at=${job.createdAt} /></td>
      <td><${Time} at=${job.finishedAt ?? job.runAfter} /></td>
      <td class="end">${isCancelable && html`<${Action} label="Cancel the deletion" run=${cancel} />`}</td>
    </tr>`;
  };
  return html`<h2>Deletions</h2>
    <${List}
      label="Deletions"
      list=${list}
      row=${row}
      empty=${html`<span></span>`}
      head=${['Deletion of', 'State', 'Requested', 'Due or ended', '']}
    />`;
}
