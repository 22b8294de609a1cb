import { FileExport } from '../parts/file-export.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { List, PageFrame, TimeCell, personOf, roleName } from '../parts/parts.tsx';
import { NameCell } from './name-cell.tsx';

type Organization = NonNullable<Answers['AccessReview']['viewer']['organization']>;
type Row = NonNullable<Organization['members']>['nodes'][number];

const HEAD = ['Person', 'Role', 'Why', 'Identity provider', 'Joined', 'Last seen', 'API keys'];

const ORIGINS: Readonly<Record<NonNullable<Row['origin']>, string>> = {
  CREATED: 'Created the organization',
  INVITED: 'Invited',
  PROVIDER: 'Signed in with the identity provider',
  GROUP: 'A group of the identity provider',
  SCIM: 'SCIM',
  OPERATOR: 'The operator',
};

/** Everybody who has access, for a review. */
export function AccessReviewPage() {
  const members = usePages(
    'AccessReview',
    { first: 100, suspended: false },
    ({ viewer }) => viewer.organization?.members,
  );
  const suspended = usePages(
    'AccessReview',
    { first: 100, suspended: true },
    ({ viewer }) => viewer.organization?.suspendedMembers,
  );
  return (
    <PageFrame
      title="Access review"
      intro="Everybody who has access to this organization, and why."
      actions={<FileExport label="Save as CSV…" path="/v1/access-review" name="access-review.csv" format="csv" />}
    >
      <List
        label="Members"
        list={members}
        row={rowOf}
        empty="There are no members that you may see."
        head={HEAD}
        isDense
      />
      {suspended.rows.length > 0 && (
        <>
          <h2>Suspended</h2>
          <List
            label="Suspended members"
            list={suspended}
            row={rowOf}
            empty="Nobody is suspended."
            head={HEAD}
            isDense
          />
        </>
      )}
    </PageFrame>
  );
}

function rowOf({ user, role, origin, joinedAt, lastSeenAt, apiKeyCount, identities }: Row) {
  const issuers = identities?.map(({ issuer }) => issuer).join(', ');
  return (
    <tr key={user.id}>
      <NameCell name={user.name ? `${user.name} (${user.email})` : personOf(user)} />
      <td>{roleName(role)}</td>
      <td class="second">{origin ? ORIGINS[origin] : 'Not known'}</td>
      <td class="second minor" title={issuers}>
        {issuers || <span class="soft">–</span>}
      </td>
      <TimeCell class="minor" at={joinedAt} isShort />
      <TimeCell at={lastSeenAt ?? null} isShort />
      <td class="number">{apiKeyCount}</td>
    </tr>
  );
}
