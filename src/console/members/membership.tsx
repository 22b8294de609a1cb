import { openIn } from '../parts/address.ts';
import { run } from '../parts/api.ts';
import { FormButton } from '../parts/form-button.tsx';
import { refusalOf } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Action, Facts } from '../parts/parts.tsx';
import { EditOrganization, DeleteOrganization } from '../organizations/organization-forms.tsx';

interface MembershipProps {
  readonly organization: NonNullable<Answers['Membership']['viewer']['organization']>;
  readonly onDone: () => void;
}

/** Leaving the organization and, for administrators, changing and deleting it. */
export function Membership({ organization, onDone }: MembershipProps) {
  const { id, name, slug, viewerCanAdminister, viewerCanDelete } = organization;
  const leave = async () => {
    const { data, faults } = await run('LeaveOrganization', { id });
    const result = data?.leaveOrganization;
    if (result?.__typename === 'LeaveOrganizationPayload') openIn(null, '/');
    return refusalOf(result, faults);
  };
  const question = `Leave “${name}”? Your keys of this organization stop working at once. To come back you need an invitation.`;
  return (
    <section aria-labelledby="membership">
      <h2 id="membership">Organization</h2>
      <Facts
        facts={[
          ['Name', name],
          ['Slug', slug && <code>{slug}</code>],
        ]}
      />
      <div class="actions">
        {viewerCanAdminister && (
          <FormButton label="Edit the organization" dialog={EditOrganization} props={{ organization, onDone }} />
        )}
        <Action label="Leave the organization" confirm={question} run={leave} />
        {viewerCanDelete && (
          <FormButton label="Delete the organization…" dialog={DeleteOrganization} props={{ organization }} />
        )}
      </div>
    </section>
  );
}
