import type { VNode } from 'preact';
import { openIn } from './address.ts';
import { run } from './api.ts';
import { FormButton } from './form-button.ts';
import { refusalOf } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Action, Facts } from './parts.ts';

const EDIT = async () => (await import('./organization-forms.ts')).EditOrganization;
const DELETE = async () => (await import('./organization-forms.ts')).DeleteOrganization;

interface MembershipProps {
  readonly organization: NonNullable<Answers['Membership']['viewer']['organization']>;
  readonly onDone: () => void;
}

/** Leaving the organization and, for administrators, changing and deleting it. */
export function Membership({ organization, onDone }: MembershipProps): VNode {
  const { id, name, slug, viewerCanAdminister, viewerCanDelete } = organization;
  const leave = async () => {
    const { data, faults } = await run('LeaveOrganization', { id });
    const result = data?.leaveOrganization;
    if (result?.__typename === 'LeaveOrganizationPayload') openIn(null, '/');
    return refusalOf(result, faults);
  };
  const question = `Leave “${name}”? Your keys of this organization stop working at once. To come back you need an invitation.`;
  return html`<section aria-labelledby="membership">
    <h2 id="membership">Organization</h2>
    <${Facts}
      facts=${[
        ['Name', name],
        ['Slug', slug && html`<code>${slug}</code>`],
      ]}
    />
    <div class="actions">
      ${viewerCanAdminister && html`<${FormButton} label="Edit the organization" load=${EDIT} props=${{ organization, onDone }} />`}
      <${Action} label="Leave the organization" confirm=${question} run=${leave} />
      ${viewerCanDelete && html`<${FormButton} label="Delete the organization…" load=${DELETE} props=${{ organization }} />`}
    </div>
  </section>`;
}
