import { organization as ofTab } from '../parts/address.ts';
import { useScope } from '../parts/caller.ts';
import { isEndLine } from '../parts/download.ts';
import { FileExport } from '../parts/file-export.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { Facts } from '../parts/parts.tsx';
import type { Organization } from './organization-forms.tsx';
import { RedactOrganization } from './redaction-form.tsx';
import { EditRetention } from './retention-forms.tsx';

const KINDS = [
  ['sessionDays', 'Sessions are kept', 'sessions'],
  ['occurrenceDays', 'Occurrences are kept', 'occurrences'],
  ['auditLogDays', 'The audit log is kept', 'the audit log'],
] as const;

type Periods = NonNullable<Organization['retention']>;

const keptFor = (retention: Periods, kind: (typeof KINDS)[number][0]) => {
  const days = retention[kind];
  if (days !== null) return `${days.toLocaleString()} days`;
  return retention.limitedByOperator.includes(kind) ? 'as long as the operator keeps it' : 'without limit';
};

const limitedIn = ({ limitedByOperator }: Periods) =>
  KINDS.filter(([kind]) => limitedByOperator.includes(kind)).map(([, , name]) => name);

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
          <Facts facts={KINDS.map(([kind, label]) => [label, keptFor(retention, kind)])} />
          {limitedIn(retention).length > 0 && (
            <p class="soft">
              The operator of this gateway keeps some of this for a shorter time than the organization has set:{' '}
              {limitedIn(retention).join(', ')}.
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
