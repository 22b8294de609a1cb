import type { Answers } from '../generated/operation-types.ts';
import { Facts } from '../parts/parts.tsx';

type Settings = NonNullable<Answers['Organization']['viewer']['organization']>['signInSettings'];

const listed = (names: readonly string[] | null, otherwise: string) => names?.join(', ') || otherwise;

/** How people sign in, as the operator has set it. */
export const SignInFacts = ({ settings }: { readonly settings: NonNullable<Settings> | null }) => (
  <section aria-labelledby="sign-in">
    <h2 id="sign-in">Sign-in</h2>
    {settings ? (
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
    ) : (
      <p class="soft">People sign in with keys: there is no identity provider.</p>
    )}
  </section>
);
