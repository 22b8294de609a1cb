import { OPERATION_WORDS, changeOf } from './audit-words.ts';
import { Button } from '../parts/button.tsx';
import { useScope } from '../parts/caller.ts';
import { InfoDialog } from '../parts/dialogs.tsx';
import { FileExport } from '../parts/file-export.tsx';
import { FilterChips } from '../parts/filter-chips.tsx';
import { CheckField, ChoiceField, Filters, InputField, momentOf, useFilter } from '../parts/filters.tsx';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { Refusal } from './history.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Badge, Facts, List, PageFrame, Time, TimeCell, personOf, wordsOf } from '../parts/parts.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { usePeople } from '../members/people.ts';

type Row = NonNullable<NonNullable<Answers['AuditLog']['viewer']['organization']>['auditLog']>['nodes'][number];

const HEAD = ['When', 'What', 'Object', 'By', ''];
const OPERATIONS = OPERATION_WORDS.map(([group, words]) => [group, Object.entries(words)] as const);

const NAMES = Object.fromEntries(OPERATIONS.flatMap(([, words]) => words));

/** The filters, which are in the address, and what they mean for the API. */
function useAuditFilters() {
  const fields = {
    operation: useFilter('operation'),
    by: useFilter('by'),
    object: useFilter('object'),
    from: useFilter('from'),
    to: useFilter('to'),
    recording: useFilter('recording'),
    refused: useFilter('refused'),
  };
  const [[operation], [actor], [object]] = [fields.operation, fields.by, fields.object];
  const occurredFrom = momentOf(fields.from[0]);
  const occurredBefore = momentOf(fields.to[0], { daysLater: 1 });
  const filter = {
    ...(operation && { operations: [operation] }),
    ...(actor && { actorIds: [actor] }),
    ...(object && { targetIds: [object] }),
    ...(occurredFrom && { occurredFrom }),
    ...(occurredBefore && { occurredBefore }),
    ...(fields.refused[0] && { isRefused: true }),
  };
  // An operation that records is shown when it is asked for.
  const shown = fields.recording[0] || operation ? filter : { ...filter, isRecording: false };
  // What a file can be limited to.
  const range = {
    ...(operation && { operations: operation }),
    ...(occurredFrom && { from: occurredFrom }),
    ...(occurredBefore && { before: occurredBefore }),
  };
  return { fields, shown, range, isFiltered: Object.keys(filter).length > 0 };
}

type Fields = ReturnType<typeof useAuditFilters>['fields'];
type People = ReturnType<typeof usePeople>;

function AuditFilters({ fields, people }: { readonly fields: Fields; readonly people: People }) {
  const given = (name: keyof Fields) => ({ value: fields[name][0], onChange: fields[name][1] });
  const actions = [['', 'Anything']] as const;
  return (
    <Filters folds>
      <ChoiceField label="What" {...given('operation')} choices={actions} groups={OPERATIONS} />
      <ChoiceField label="By" {...given('by')} choices={[['', 'Anybody'], ...people]} />
      <InputField label="From" type="date" {...given('from')} />
      <InputField label="To" type="date" {...given('to')} />
      <details class="more-filters">
        <summary>More filters</summary>
        <div class="filters">
          <CheckField label="With recording" {...given('recording')} />
          <CheckField label="Refused only" {...given('refused')} />
        </div>
      </details>
    </Filters>
  );
}

function AuditChips({ fields, people }: { readonly fields: Fields; readonly people: People }) {
  const nameOf = (id: string) => people.find(([each]) => each === id)?.[1] ?? id;
  const words: Readonly<Record<keyof Fields, (value: string) => string>> = {
    operation: (value) => `What: ${NAMES[value] ?? value}`,
    by: (value) => `By: ${nameOf(value)}`,
    object: () => 'One object only',
    from: (value) => `From ${value}`,
    to: (value) => `To ${value}`,
    recording: () => 'With recording',
    refused: () => 'Refused only',
  };
  return <FilterChips fields={fields} words={words} />;
}

export function AuditLogPage() {
  const { fields, shown, range, isFiltered } = useAuditFilters();
  const mayExport = useScope('AUDIT_LOG_READ');
  const people = usePeople();
  const list = usePages('AuditLog', { first: 50, filter: shown }, ({ viewer }) => viewer.organization?.auditLog);
  const empty = isFiltered ? 'No entry matches this filter.' : 'Nothing has been changed yet.';
  return (
    <PageFrame title="Audit log" intro="Every change in this organization, latest first.">
      <AuditFilters fields={fields} people={people} />
      <AuditChips fields={fields} people={people} />
      {mayExport && (
        <div class="actions">
          <FileExport
            label="Save as a file…"
            path={`/v1/audit-log?${new URLSearchParams(range)}`}
            name="audit-log.ndjson"
            format="ndjson"
          />
          <span class="soft">
            Everybody’s entries of this time and action, recording too, in the order of the changes.
          </span>
        </div>
      )}
      <List
        label="Audit log"
        list={list}
        row={(entry: Row) => rowOf(entry, fields.object[1])}
        empty={empty}
        head={HEAD}
        isDense
      />
    </PageFrame>
  );
}

function rowOf(entry: Row, showObject: (id: string) => void) {
  const { targetId, refusal } = entry;
  const change = changeOf(entry);
  return (
    <tr key={entry.databaseId}>
      <TimeCell at={entry.occurredAt} />
      <td class="wide" title={change}>
        <div class="line">
          <bdi>{change}</bdi>
          {refusal && <Badge value={refusal} />}
        </div>
      </td>
      <td class="second">
        <div class="line">{objectOf(entry)}</div>
      </td>
      <td class="second minor">{actorOf(entry)}</td>
      <td class="end">
        <RowActions>
          <FormButton label="Details" dialog={EntryDialog} props={{ entry }} />
          {targetId && (
            <Button title={targetId} onClick={() => showObject(targetId)}>
              History
            </Button>
          )}
        </RowActions>
      </td>
    </tr>
  );
}

const actorOf = ({ actor, actorLabel, source }: Row) => (
  <bdi>{actor ? personOf(actor) : (actorLabel ?? wordsOf(source))}</bdi>
);

/** The whole entry, of which the table shows what fits into a line. */
function EntryDialog({ entry, onClose }: DialogProps & { readonly entry: Row }) {
  const { occurredAt, requestId, clientAddress, userAgent, source } = entry;
  return (
    <InfoDialog title={changeOf(entry)} label="Entry of the audit log" isWide onClose={onClose}>
      <Refusal entry={entry} />
      <Facts
        facts={[
          ['When', <Time at={occurredAt} />],
          ['Object', objectOf(entry)],
          ['By', actorOf(entry)],
          ['Request', source === 'REQUEST' ? <code>{requestId}</code> : undefined],
          ['From', clientAddress],
          ['Client', userAgent],
        ]}
      />
    </InfoDialog>
  );
}

const TYPES: Readonly<Record<string, string>> = {
  ApiKey: 'API key',
  McpServer: 'MCP connection',
  OrganizationInvitation: 'Invitation',
  ServiceAccount: 'Service account',
  User: 'Person',
};

/** What is said of an object that cannot be read any more. Invitations end all the time. */
const goneWords = (targetType: string) =>
  targetType === 'OrganizationInvitation' ? 'no longer open' : 'no longer here';

/** The changed object by its name, linked to its page, and its type. */
function objectOf({ target, targetType, targetId, targetLabel }: Row) {
  const type = TYPES[targetType] ?? wordsOf(targetType.replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter}`));
  const [current, path] = target ? placeOf(target) : [];
  // The name of that time, which may have changed since.
  const name = targetLabel ?? current;
  const gone = targetId && !target ? goneWords(targetType) : '';
  if (!name)
    return (
      <>
        {type} {gone && <span class="soft">{gone}</span>}
      </>
    );
  const shown = path ? <a href={path}>{name}</a> : <bdi>{name}</bdi>;
  return (
    <>
      {shown} <span class="soft">{gone ? `${type}, ${gone}` : type}</span>
    </>
  );
}

type Target = NonNullable<Row['target']>;

function placeOf(target: Target): readonly [name?: string | null, path?: string] {
  switch (target.__typename) {
    case 'ApiKey':
      return [target.name || target.preview, '/api-keys'];
    case 'EventDefinition':
      return [target.label, `/event-definitions/${encodeURIComponent(target.name)}`];
    case 'McpServer':
      return [target.name, `/mcp-connections/${target.databaseId}`];
    case 'Organization':
      return [target.name];
    case 'OrganizationInvitation':
      return [target.email, '/members'];
    case 'PullRequest':
      return [target.title, target.url];
    case 'Session':
      return [target.title, `/sessions/${target.databaseId}`];
    case 'ServiceAccount':
      return [target.displayName, '/members'];
    case 'User':
      return [target.ownName ?? target.address, '/members'];
    case 'Webhook':
      return [target.url, `/webhooks/${target.databaseId}`];
    default:
      return [];
  }
}
