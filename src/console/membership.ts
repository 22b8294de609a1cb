import type { VNode } from 'preact';
import { organization as chosen, run } from './api.ts';
import { refusalOf } from './hooks.ts';
import { html } from './html.ts';
import { Action } from './parts.ts';

interface MembershipProps {
  readonly organization: {
    readonly id: string;
    readonly name: string;
  };
}

/** The caller's own membership: the way out. */
export function Membership({ organization: { id, name } }: MembershipProps): VNode {
  const leave = async () => {
    const { data, faults } = await run('LeaveOrganization', { id });
    const result = data?.leaveOrganization;
    if (result?.__typename === 'LeaveOrganizationPayload') goHome();
    return refusalOf(result, faults);
  };
  const question = `Leave “${name}”? Your keys of this organization stop working at once. Only an invitation brings you back.`;
  return html`<section aria-labelledby="membership">
    <h2 id="membership">Your membership</h2>
    <${Action} label="Leave the organization" confirm=${question} run=${leave} />
  </section>`;
}

/** Opens the console anew, in another organization of the key; with none, or without the key, it says what to do. */
function goHome(): void {
  chosen.clear();
  location.assign('/');
}
