import type { VNode } from 'preact';
import { organization as ofTab } from './address.ts';
import { useScope } from './caller.ts';
import { FileExport } from './file-export.ts';
import { FormButton } from './form-button.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import { Facts, Faults, Loading } from './parts.ts';

const EDIT = async () => (await import('./retention-forms.ts')).EditRetention;

const keptFor = (days: number | null) => (days === null ? 'without limit' : `${days.toLocaleString()} days`);

/** How long the organization keeps what is recorded, and the export of everything. For administrators. */
export function Retention(): VNode {
  const { data, faults, isLoading, paused, reload } = useQuery('Retention', {});
  const mayExport = useScope('SESSIONS_READ');
  const organization = data?.viewer.organization;
  const retention = organization?.retention;
  return html`<section aria-labelledby="retention">
    <h2 id="retention">Recorded data</h2>
    ${isLoading && !data && html`<${Loading} paused=${paused} />`}<${Faults} faults=${faults} />
    ${
      retention &&
      html`<${Facts}
          facts=${[
            ['Sessions are kept', keptFor(retention.sessionDays)],
            ['Occurrences are kept', keptFor(retention.occurrenceDays)],
            ['The audit log is kept', keptFor(retention.auditLogDays)],
          ]}
        />
        ${retention.isLimitedByOperator && html`<p class="soft">The operator of this gateway keeps some of this for a shorter time than the organization has set. The shorter time is shown, and counts.</p>`}`
    }
    <div class="actions">
      ${retention && html`<${FormButton} label="Change the retention…" load=${EDIT} props=${{ organization, onDone: reload }} />`}
      ${mayExport && organization && html`<${FileExport} label="Export everything…" ...${exportOf(organization.slug)} />`}
    </div>
    ${mayExport && html`<p class="soft">The export is a file with everything that administrators can read, private sessions too, without secrets.</p>`}
  </section>`;
}

function exportOf(slug: string | null) {
  return {
    path: `/v1/organizations/${ofTab.get()}/export`,
    name: `${slug ?? 'organization'}.ndjson`,
    isLast: (line: string) => line.startsWith('{"kind":"end"'),
  };
}
