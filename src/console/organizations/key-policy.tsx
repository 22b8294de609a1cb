import { type Answer, run } from '../parts/api.ts';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { CheckField, SelectField, TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { finish } from '../parts/notices.tsx';
import type { Answers } from '../generated/operation-types.ts';
import { Facts, Faults, Loading } from '../parts/parts.tsx';
import { daysOf } from './retention-forms.tsx';

type Organization = NonNullable<Answers['Rules']['viewer']['organization']>;

const DELETIONS = [
  ['MEMBERS', 'Every member'],
  ['CREATORS', 'Administrators and the creator'],
] as const;
const DELETION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(DELETIONS);

/** Which keys may act in the organization, and who deletes event definitions. For administrators. */
export function Rules() {
  const { data, faults, isLoading, paused, reload } = useQuery('Rules', {});
  const organization = data?.viewer.organization;
  const policy = organization?.keyPolicy;
  return (
    <section aria-labelledby="rules">
      <h2 id="rules">Rules</h2>
      {isLoading && !data && <Loading paused={paused} />}
      <Faults faults={faults} />
      {organization && policy && (
        <>
          <Facts
            facts={[
              ['API keys act', policy.maxDays === null ? 'at any age' : `for ${policy.maxDays} days`],
              ['Keys for all organizations', policy.boundOnly ? 'cannot be created' : 'can be created'],
              ['Event definitions are deleted by', DELETION_NAMES[organization.definitionDeletion]],
            ]}
          />
          {data.viewer.signInSettings && <SignIn settings={data.viewer.signInSettings} />}
          <div class="actions">
            <FormButton label="Change the rules…" dialog={EditRules} props={{ organization, onDone: reload }} />
          </div>
        </>
      )}
    </section>
  );
}

const listed = (names: readonly string[] | null, otherwise: string) => names?.join(', ') || otherwise;

/** What the operator has set for the sign-in with the identity provider. */
const SignIn = ({ settings }: { readonly settings: NonNullable<Answers['Rules']['viewer']['signInSettings']> }) => (
  <Facts
    facts={[
      ['Identity provider', settings.issuer],
      ['Addresses that sign in', listed(settings.domains, 'none')],
      ['Groups that sign in', listed(settings.allowedGroups, 'any')],
      ['New people join', (settings.joins && settings.organizationSlug) || 'by invitation'],
      [`Administrators of ${settings.organizationSlug ?? 'none'}`, listed(settings.adminGroups, 'set here')],
      [`Viewers of ${settings.organizationSlug ?? 'none'}`, listed(settings.viewerGroups, 'set here')],
      ['Sign-in with keys', settings.isOnly ? 'off' : 'on'],
    ]}
  />
);

function EditRules({
  organization,
  onDone,
  onClose,
}: DialogProps & { organization: Organization; onDone: () => void }) {
  const { id: organizationId, keyPolicy, definitionDeletion } = organization;
  const form = useForm({
    initial: {
      maxDays: String(keyPolicy?.maxDays ?? ''),
      boundOnly: keyPolicy?.boundOnly ?? false,
      definitionDeletion,
    },
    send: async (given, { idempotencyKey, changed }): Promise<Answer<object>> => {
      const { boundOnly } = given;
      const policy = { organizationId, maxDays: daysOf(given.maxDays), boundOnly };
      const answer = await run('UpdateKeyPolicy', { input: policy }, { idempotencyKey });
      const isRefused = answer.data?.updateOrganizationKeyPolicy?.__typename !== 'UpdateOrganizationKeyPolicyPayload';
      if (isRefused || changed.definitionDeletion === undefined) return answer;
      const deletion = given.definitionDeletion === 'CREATORS' ? 'CREATORS' : 'MEMBERS';
      return run('UpdateOrganization', { input: { organizationId, definitionDeletion: deletion } });
    },
    onDone: () => finish('The rules were changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Change the rules" submit="Save" form={form} onClose={onClose}>
      <TextField
        name="maxDays"
        label="Days for API keys"
        help="Older keys of people and service accounts act here no longer at once. An empty field allows any age."
      />
      <CheckField name="boundOnly" label="No new keys for all organizations" help="Those that exist stay." />
      <SelectField name="definitionDeletion" label="Event definitions are deleted by" choices={DELETIONS} />
    </FormDialog>
  );
}
