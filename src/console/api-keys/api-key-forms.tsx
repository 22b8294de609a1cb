import { type Answer, run } from '../parts/api.ts';
import type { Answers } from '../generated/operation-types.ts';
import type { DialogProps } from '../parts/form-button.tsx';
import { SelectField, TextField, useField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { type Scope, type ScopeText, grantableScopes } from '../parts/scopes.ts';
import { useRole } from '../parts/caller.ts';
import type { Role } from '../parts/parts.tsx';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 90;
const EXPIRIES = [
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 365 days'],
  ['date', 'At the end of a day'],
] as const;
const PLACES = [
  ['this', 'This organization'],
  ['all', 'All my organizations'],
] as const;

/** What keys are for, and the scopes that they need. */
const PRESETS: readonly (readonly [value: string, name: string, needs: (scope: Scope) => boolean])[] = [
  ['recorder', 'Recorder: a program that runs agents', (scope) => scope === 'SESSIONS_RECORD'],
  [
    'crm',
    'CRM integration: events and their definitions',
    (scope) =>
      scope === 'ANALYTICS_BEHAVIORAL_EVENTS_SEND' || scope === 'BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE',
  ],
  ['tools', 'MCP client: calls the tools of MCP connections', (scope) => scope === 'MCP_CONNECTIONS_USE'],
  ['audit', 'Audit log: a program that keeps it elsewhere', (scope) => scope === 'AUDIT_LOG_READ'],
  ['read', 'Read only', (scope) => scope.endsWith('_READ') && scope !== 'AUDIT_LOG_READ'],
  ['scim', 'SCIM: an identity provider manages people and groups', (scope) => scope === 'SCIM'],
  ['all', 'Everything that your own key may do', (scope) => scope !== 'SCIM'],
];

interface CallingKey {
  readonly scopes: readonly Scope[];
  readonly expiresAt: string | null;
}

interface ScopesProps extends Pick<CallingKey, 'scopes'> {
  readonly textOf: (scope: Scope) => ScopeText;
}

/** The scopes, one by one or all that a purpose needs. A key cannot create a stronger one, so only those of the calling key are offered. */
function ScopesField({ scopes, textOf }: ScopesProps) {
  const [{ value, set, id, ...rest }, below] = useField<readonly Scope[]>('scopes');
  const chosen = new Set(value);
  const presets = PRESETS.map(([name, label, needs]) => ({ name, label, needed: scopes.filter(needs) }));
  const offered = presets.filter(({ needed }) => needed.length > 0);
  const current = offered.find(
    ({ needed }) => needed.length === chosen.size && needed.every((each) => chosen.has(each)),
  );
  const choose = (preset: string) => set(offered.find(({ name }) => name === preset)?.needed ?? []);
  const toggle = (scope: Scope) => {
    if (!chosen.delete(scope)) chosen.add(scope);
    set(scopes.filter((each) => chosen.has(each)));
  };
  return (
    <>
      <div class="field">
        <label for={`${id}-preset`}>Purpose</label>
        <select
          id={`${id}-preset`}
          value={current?.name ?? ''}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          <option value="">{chosen.size === 0 ? 'None yet' : 'My own choice of scopes'}</option>
          {offered.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
        <span class="soft">A purpose chooses the scopes that it needs.</span>
      </div>
      <fieldset
        class="field scope-choice"
        id={id}
        tabindex={-1}
        data-invalid={rest['aria-invalid']}
        aria-describedby={rest['aria-describedby']}
      >
        <legend>
          Scopes: {chosen.size} of {scopes.length}
        </legend>
        {below}
        {scopes.map((scope) => (
          <label key={scope} class="check">
            <input type="checkbox" checked={chosen.has(scope)} onChange={() => toggle(scope)} />
            <span>
              <code>{textOf(scope).name}</code>
              <span class="soft">{textOf(scope).text}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  );
}

interface CreateKeyProps extends DialogProps {
  readonly caller: CallingKey;
  readonly textOf: (scope: Scope) => ScopeText;
  /** Whose key it becomes; undefined for the caller. */
  readonly serviceAccount?: { readonly id: string; readonly name: string; readonly role: Role };
  readonly onCreated: (key: string) => void;
}

/** The form that creates an API key. */
export function CreateKey({ caller, textOf, serviceAccount, onCreated, onClose }: CreateKeyProps) {
  const own = useRole();
  const role = serviceAccount?.role ?? own;
  const later = new Date(Date.now() + DEFAULT_DAYS * DAY_MS);
  const isLater = caller.expiresAt === null || new Date(caller.expiresAt) > later;
  const initial = {
    name: '',
    scopes: [] as readonly Scope[],
    expiresAt: isLater ? String(DEFAULT_DAYS) : 'none',
    date: localDay(later),
    place: 'this',
  };
  const form = useForm({
    boundsOf: 'CreateApiKey',
    initial,
    send: (
      { name, scopes, expiresAt, date, place },
      { idempotencyKey },
    ): Promise<Answer<Answers['CreateApiKey'] | Answers['CreateServiceAccountApiKey']>> => {
      const key = { name, scopes, expiresAt: expiryOf(expiresAt, date) };
      if (!serviceAccount)
        return run('CreateApiKey', { input: { ...key, allOrganizations: place === 'all' } }, { idempotencyKey });
      const input = { ...key, serviceAccountId: serviceAccount.id };
      return run('CreateServiceAccountApiKey', { input }, { idempotencyKey });
    },
    onDone: ({ key }) => {
      onClose();
      onCreated(key);
    },
  });
  const { expiresAt, date } = form.values;
  const never = caller.expiresAt === null ? 'Never' : 'With your own key';
  return (
    <FormDialog
      title={serviceAccount ? `New API key of ${serviceAccount.name}` : 'New API key'}
      submit="Create"
      form={form}
      isBlocked={expiresAt === 'date' && date === ''}
      onClose={onClose}
    >
      <TextField name="name" label="Name" isRequired help="What it is for, such as the program that uses it." />
      <ScopesField scopes={grantableScopes(caller.scopes, role, serviceAccount !== undefined)} textOf={textOf} />
      <SelectField name="expiresAt" label="Expires" choices={[...EXPIRIES, ['none', never]]} />
      {expiresAt === 'date' && <TextField name="date" label="Last day" type="date" isRequired />}
      {!serviceAccount && role !== 'VIEWER' && <SelectField name="place" label="Valid in" choices={PLACES} />}
    </FormDialog>
  );
}

/** The end of a choice or of a local day; null for none. */
function expiryOf(choice: string, date: string): string | null {
  if (choice === 'none') return null;
  const at = choice === 'date' ? new Date(`${date}T23:59:59`) : new Date(Date.now() + Number(choice) * DAY_MS);
  return at.toISOString();
}

/** A local day as date fields have it: `2026-03-01`. */
function localDay(at: Date): string {
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}
