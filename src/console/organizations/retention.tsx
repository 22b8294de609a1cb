import { organization as ofTab } from '../parts/address.ts';
import { useScope } from '../parts/caller.ts';
import { isEndLine } from '../parts/download.ts';
import { FileExport } from '../parts/file-export.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { Facts } from '../parts/parts.tsx';
import type { Organization } from './organization-forms.tsx';
import { RedactOrganization } from './redaction-form.tsx';
import { EditRetention } from './retention-forms.tsx';

const keptFor = (days: number | null) => (days === null ? 'without limit' : `${days.toLocaleString()} days`);

interface Props {
  readonly organization: Organization;
  readonly onDone: () => void;
}

/** How long the organization keeps what is recorded, and the export of everything. */
export function Retention({ organization, onDone }: Props) {
  const mayExport = useScope('SESSIONS_READ');
  const mayRedact = useScope('SESSIONS_WRITE');
  const { retention, slug, databaseId } = organization;
  return (
    <section aria-labelledby="retention">
      <h2 id="retention">Recorded data</h2>
      {retention && (
        <>
          <Facts
            facts={[
              ['Sessions are kept', keptFor(retention.sessionDays)],
              ['Occurrences are kept', keptFor(retention.occurrenceDays)],
              ['The audit log is kept', keptFor(retention.auditLogDays)],
            ]}
          />
          {retention.isLimitedByOperator && (
            <p class="soft">
              The operator of this gateway keeps some of this for a shorter time than the organization has set; the
              shorter time counts.
            </p>
          )}
        </>
      )}
      <div class="actions">
        {retention && (
          <FormButton label="Change the retention…" dialog={EditRetention} props={{ organization, onDone }} />
        )}
        {mayRedact && (
          <FormButton
            label="Redact in all sessions…"
            dialog={RedactOrganization}
            props={{ slug: slug ?? databaseId }}
          />
        )}
        {mayExport && <FileExport label="Export everything…" {...exportOf(slug)} />}
      </div>
      {mayExport && (
        <p class="soft">
          The export is a file with everything that administrators can read, private sessions too, without secrets.
        </p>
      )}
    </section>
  );
}

const exportOf = (slug: string | null) => ({
  path: `/v1/organizations/${ofTab.get()}/export`,
  name: `${slug ?? 'organization'}.ndjson`,
  isLast: isEndLine,
});
