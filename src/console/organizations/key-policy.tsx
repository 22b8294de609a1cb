import { type Answer, run } from '../parts/api.ts';
import { type DialogProps, FormButton } from '../parts/form-button.tsx';
import { CheckField, SelectField, TextField } from '../parts/form-fields.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { finish } from '../parts/notices.tsx';
import { Facts } from '../parts/parts.tsx';
import type { Organization } from './organization-forms.tsx';
import { daysOf } from './retention-forms.tsx';

const DELETIONS = [
  ['MEMBERS', 'Every member'],
  ['CREATORS', 'Administrators and the creator'],
] as const;
const DELETION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(DELETIONS);

interface Props {
  readonly organization: Organization;
  readonly onDone: () => void;
}

/** Which keys may act in the organization, and who deletes event definitions. */
export const Rules = ({ organization, onDone }: Props) => (
  <section aria-labelledby="rules">
    <h2 id="rules">Rules</h2>
    {organization.keyPolicy && (
      <>
        <Facts
          facts={[
            [
              'API keys act',
              organization.keyPolicy.maxDays === null ? 'at any age' : `for ${organization.keyPolicy.maxDays} days`,
            ],
            ['Keys for all organizations', organization.keyPolicy.boundOnly ? 'cannot be created' : 'can be created'],
            ['Event definitions are deleted by', DELETION_NAMES[organization.definitionDeletion]],
          ]}
        />
        <div class="actions">
          <FormButton label="Change the rules…" dialog={EditRules} props={{ organization, onDone }} />
        </div>
      </>
    )}
  </section>
);

function EditRules({ organization, onDone, onClose }: DialogProps & Props) {
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
        help="Older keys of people and service accounts stop working here at once. An empty field allows any age."
      />
      <CheckField name="boundOnly" label="No new keys for all organizations" help="Those that exist stay." />
      <SelectField name="definitionDeletion" label="Event definitions are deleted by" choices={DELETIONS} />
    </FormDialog>
  );
}
