import { openIn } from '../parts/address.ts';
import { run } from '../parts/api.ts';
import { useAdministration, useScope } from '../parts/caller.ts';
import { FormButton } from '../parts/form-button.tsx';
import { refusalOf, useQuery } from '../parts/hooks.ts';
import { Action, Facts, Faults, Missing, PageFrame } from '../parts/parts.tsx';
import { Rules } from './key-policy.tsx';
import { DeleteOrganization, EditOrganization, type Organization } from './organization-forms.tsx';
import { Retention } from './retention.tsx';
import { SignInFacts } from './sign-in-facts.tsx';

/** The organization itself: its name and how to leave it; for administrators also its rules, sign-in, data and deletion. */
export function OrganizationPage() {
  const isAdministrator = useAdministration();
  const mayChange = useScope('ORGANIZATIONS_WRITE') && isAdministrator;
  const query = useQuery('Organization', { mayChange });
  const organization = query.data?.viewer.organization;
  if (!organization) return <Missing title="Organization" query={query} children="" />;
  const props = { organization, onDone: query.reload };
  const { name, slug, viewerCanDelete } = organization;
  return (
    <PageFrame
      title="Organization"
      actions={mayChange && <FormButton label="Edit" dialog={EditOrganization} props={props} />}
    >
      <Faults faults={query.faults} />
      <Facts
        facts={[
          ['Name', name],
          ['Slug', slug && <code>{slug}</code>],
        ]}
      />
      {mayChange && <SignInFacts settings={organization.signInSettings ?? null} />}
      {mayChange && <Rules {...props} />}
      {mayChange && <Retention {...props} />}
      <h2>Leave or delete</h2>
      <div class="actions">
        <Leave organization={organization} />
        {viewerCanDelete && (
          <FormButton label="Delete the organization…" dialog={DeleteOrganization} props={{ organization }} />
        )}
      </div>
    </PageFrame>
  );
}

function Leave({ organization: { id, name } }: { readonly organization: Organization }) {
  const leave = async () => {
    const { data, faults } = await run('LeaveOrganization', { id });
    const result = data?.leaveOrganization;
    if (result?.__typename === 'LeaveOrganizationPayload') openIn(null, '/');
    return refusalOf(result, faults);
  };
  const question = `Leave “${name}”? Your keys of this organization stop working at once. To come back you need an invitation.`;
  return <Action label="Leave the organization" confirm={question} run={leave} />;
}
