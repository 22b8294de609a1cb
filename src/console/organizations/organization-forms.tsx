import { useContext } from 'preact/hooks';
import { openIn } from '../parts/address.ts';
import { endedBy, run } from '../parts/api.ts';
import { CallerContext, reloadCaller } from '../parts/caller.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { TextField, ConfirmField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { finish } from '../parts/notices.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Counts, Faults, Loading } from '../parts/parts.tsx';

export type Organization = NonNullable<Answers['Organization']['viewer']['organization']>;

/** An organization in which the sign-in cannot act, and the key that can. */
export interface Separate {
  readonly name: string;
  readonly key: string | null;
}

interface CreateProps extends DialogProps {
  readonly onCreated?: (made: Separate) => void;
}

/** The form that creates an organization. It opens at once, except for a bound key, which gets a key of the new organization instead. */
export function CreateOrganization({ onCreated, onClose }: CreateProps) {
  const caller = useContext(CallerContext);
  const isBound = Boolean(caller?.apiKey.organization);
  const createApiKey = isBound && (caller?.scopes.includes('API_KEYS_WRITE') ?? false);
  const boundText = `You are signed in with a key that acts only in ${caller?.organization?.name ?? 'one organization'}. ${createApiKey ? 'You get a key of the new organization with the same scopes.' : 'To open the new one, sign in with a key that can act in it.'}`;
  const form = useForm({
    boundsOf: 'CreateOrganization',
    initial: { name: '', slug: '' },
    send: ({ name, slug }, { idempotencyKey }) =>
      run('CreateOrganization', { input: { name, slug: slug || null, createApiKey } }, { idempotencyKey }),
    onDone: ({ organization, key }) => {
      onClose();
      if (isBound) onCreated?.({ name: form.values.name, key });
      else if (organization) openIn(organization.slug ?? organization.databaseId, '/sessions');
    },
  });
  return (
    <FormDialog title="New organization" submit="Create" form={form} onClose={onClose}>
      {isBound && <p>{boundText}</p>}
      <TextField name="name" label="Name" isRequired />
      <TextField
        name="slug"
        label="Slug"
        help="Its short name in addresses and requests: lowercase letters, digits and hyphens. It cannot be changed later. Left empty, it is made from the name."
      />
    </FormDialog>
  );
}

interface OrganizationProps extends DialogProps {
  readonly organization: Organization;
}

interface EditProps extends OrganizationProps {
  readonly onDone: () => void;
}

export function EditOrganization({ organization, onDone, onClose }: EditProps) {
  const { id, updatedAt } = organization;
  const values = { name: organization.name, logoUrl: organization.logoUrl ?? '' };
  const form = useForm({
    boundsOf: 'UpdateOrganization',
    initial: values,
    current: { updatedAt, values },
    onConflict: onDone,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed: { logoUrl, ...changed } }) => {
      const logo = logoUrl === undefined ? {} : { logoUrl: logoUrl || null };
      const input = { organizationId: id, expectedUpdatedAt: expectedUpdatedAt ?? null, ...changed, ...logo };
      return run('UpdateOrganization', { input }, { idempotencyKey });
    },
    onDone: () => finish('The organization was changed.', onClose, onDone, reloadCaller),
  });
  return (
    <FormDialog title="Edit the organization" submit="Save" form={form} onClose={onClose}>
      <TextField name="name" label="Name" isRequired />
      <TextField name="logoUrl" label="Address of the logo" type="url" />
      <p class="soft">The slug of an organization never changes.</p>
    </FormDialog>
  );
}

/** The counts of what is deleted, and a field to confirm the slug. */
export function DeleteOrganization({ organization, onClose }: OrganizationProps) {
  const { id, databaseId, name, slug } = organization;
  const { data, faults, isLoading, paused } = useQuery('DeletionPreview', {});
  const preview = data?.viewer.organization?.deletionPreview;
  const isBound = useContext(CallerContext)?.apiKey.organization !== null;
  const wanted = slug ?? databaseId;
  const form = useForm({
    initial: { confirmSlug: '' },
    send: ({ confirmSlug }, { idempotencyKey }) => run('DeleteOrganization', { id, confirmSlug }, { idempotencyKey }),
    // The profile shows how far the deletion is, for keys that still work.
    onDone: () => {
      // A key of all organizations goes on.
      if (isBound) endedBy.note('organization');
      openIn(null, '/profile');
    },
  });
  return (
    <FormDialog
      title="Delete the organization"
      submit="Delete permanently"
      isDanger
      isBlocked={form.values.confirmSlug !== wanted}
      form={form}
      onClose={onClose}
    >
      <p>Deleting “{name}” revokes its keys at once and deletes everything in it. This cannot be undone.</p>
      {isLoading && <Loading paused={paused} />}
      <Faults faults={faults} />
      {preview && (
        <Counts
          counts={[
            ['Members who lose access', preview.memberCount],
            ['API keys', preview.apiKeyCount],
            ['Sessions', preview.sessionCount],
            ['Events of sessions', preview.sessionEventCount],
            ['Event definitions', preview.eventDefinitionCount],
            ['MCP connections', preview.mcpServerCount],
          ]}
        />
      )}
      <ConfirmField name="confirmSlug" text={wanted} />
    </FormDialog>
  );
}
