import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { openIn } from './address.ts';
import { run } from './api.ts';
import { refusalOf, useQuery } from './hooks.ts';
import { html, valueOf } from './html.ts';
import { Action, Faults, Loading } from './parts.ts';

interface Organization {
  readonly id: string;
  readonly databaseId: string;
  readonly name: string;
  readonly slug: string | null;
  readonly viewerCanAdminister: boolean;
}

interface OrganizationProps {
  readonly organization: Organization;
}

/** Leaving the organization and, for administrators, deleting it. */
export function Membership({ organization }: OrganizationProps): VNode {
  const { id, name } = organization;
  const leave = async () => {
    const { data, faults } = await run('LeaveOrganization', { id });
    const result = data?.leaveOrganization;
    if (result?.__typename === 'LeaveOrganizationPayload') goHome();
    return refusalOf(result, faults);
  };
  const question = `Leave “${name}”? Your keys of this organization stop working at once. To come back you need an invitation.`;
  return html`<section aria-labelledby="membership">
    <h2 id="membership">Leave</h2>
    <${Action} label="Leave the organization" confirm=${question} run=${leave} />
    ${organization.viewerCanAdminister && html`<${Deletion} organization=${organization} />`}
  </section>`;
}

function Deletion({ organization }: OrganizationProps): VNode {
  const [isOpen, setOpen] = useState(false);
  if (!isOpen) {
    return html`<p>
      <button class="button small plain" onClick=${() => setOpen(true)}>Delete the organization…</button>
    </p>`;
  }
  return html`<${DeletionForm} organization=${organization} onCancel=${() => setOpen(false)} />`;
}

/** The counts of what is deleted, and a field to confirm the slug. */
function DeletionForm({
  organization: { id, databaseId, name, slug },
  onCancel,
}: OrganizationProps & { readonly onCancel: () => void }): VNode {
  const { data, faults, isLoading, paused } = useQuery('DeletionPreview', {});
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState<string>();
  const wanted = slug ?? databaseId;
  const remove = async (event: Event) => {
    event.preventDefault();
    const answer = await run('DeleteOrganization', { id, confirmSlug: typed });
    const result = answer.data?.deleteOrganization;
    if (result?.__typename === 'DeleteOrganizationPayload') goHome();
    setFault(refusalOf(result, answer.faults));
  };
  const preview = data?.viewer.organization?.deletionPreview;
  const lost: [string, string | number][] = preview
    ? [
        ['Members who lose access', preview.memberCount],
        ['API keys', preview.apiKeyCount],
        ['Sessions', preview.sessionCount],
        ['Events of sessions', preview.sessionEventCount],
        ['Event definitions', preview.eventDefinitionCount],
        ['MCP connections', preview.mcpServerCount],
      ]
    : [];
  return html`<form class="panel danger-zone" onSubmit=${remove} aria-label="Delete the organization">
    <p>Deleting “${name}” revokes its keys at once and deletes everything in it. This cannot be undone.</p>
    ${isLoading && html`<${Loading} paused=${paused} />`}<${Faults} faults=${faults} />
    <dl class="counts">
      ${lost.map(
        ([what, count]) =>
          html`<div key=${what}>
            <dt>${what}</dt>
            <dd>${String(count)}</dd>
          </div>`,
      )}
    </dl>
    <div class="filters">
      <label
        ><span>Type <code>${wanted}</code></span>
        <input required autocomplete="off" value=${typed} onInput=${(event: Event) => setTyped(valueOf(event))}
      /></label>
      <button class="button small danger" disabled=${typed !== wanted}>Delete permanently</button>
      <button type="button" class="button small plain" onClick=${onCancel}>Cancel</button>
    </div>
    ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
  </form>`;
}

/** Reloads the console, in another organization of the key. Without one, or without the key, it shows what to do. */
function goHome(): void {
  openIn(null, '/');
}
