import { FileExport } from '../parts/file-export.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { List, PageFrame, TimeCell, personOf, roleName } from '../parts/parts.tsx';

type Organization = NonNullable<Answers['AccessReview']['viewer']['organization']>;
type Row = NonNullable<Organization['members']>['nodes'][number];

const HEAD = ['Person', 'Role', 'Why', 'Joined', 'Last seen', 'API keys'];

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
      <List label="Members" list={members} row={rowOf} empty="There are no members that you may see." head={HEAD} />
      {suspended.rows.length > 0 && (
        <>
          <h2>Suspended</h2>
          <List label="Suspended members" list={suspended} row={rowOf} empty="Nobody is suspended." head={HEAD} />
        </>
      )}
    </PageFrame>
  );
}

function rowOf({ user, role, origin, joinedAt, lastSeenAt, apiKeyCount, identities }: Row) {
  return (
    <tr key={user.id}>
      <td class="wide">
        <strong>{personOf(user)}</strong>
        {user.name && <div class="soft">{user.email}</div>}
        {identities?.map(({ issuer }) => (
          <div class="soft">{issuer}</div>
        ))}
      </td>
      <td>{roleName(role)}</td>
      <td>{origin ? ORIGINS[origin] : 'Not known'}</td>
      <TimeCell at={joinedAt} />
      <TimeCell at={lastSeenAt ?? null} />
      <td>{apiKeyCount}</td>
    </tr>
  );
}
