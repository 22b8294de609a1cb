import { useAdministration, useScope } from '../parts/caller.ts';
import { useAllPages, useQuery } from '../parts/hooks.ts';
import { personOf } from '../parts/parts.tsx';

/** Members as choices of a filter, the signed-in one first, and for administrators service accounts and people who are no members any more. Empty while they are loaded, and for a key that cannot read them. */
export function usePeople(): readonly (readonly [id: string, name: string])[] {
  const mayList = useScope('ORGANIZATIONS_WRITE');
  const isAdministrator = useAdministration() && mayList;
  const viewer = useQuery('OtherActors', { isAdministrator }).data?.viewer;
  const members = useAllPages('People', { first: 100 }, (data) => data.viewer.organization?.members);
  const users = members.rows.map(({ user }) => user);
  const isOwn = ({ id }: { readonly id: string }) => id === viewer?.user?.id;
  const people = [...users.filter(isOwn), ...users.filter((user) => !isOwn(user))];
  const { serviceAccounts, suspendedMembers, formerMembers } = viewer?.organization ?? {};
  return [
    ...people.map((user) => [user.databaseId, isOwn(user) ? `${personOf(user)} (you)` : personOf(user)] as const),
    ...(serviceAccounts?.nodes ?? []).map((account) => [account.databaseId, personOf(account)] as const),
    ...(suspendedMembers?.nodes ?? []).map(({ user }) => [user.databaseId, `${personOf(user)} (suspended)`] as const),
    ...(formerMembers?.nodes ?? []).map((each) => [each.userDatabaseId, `${formerName(each)} (left)`] as const),
  ];
}

interface Former {
  readonly userDatabaseId: string;
  readonly label: string | null;
}

/** Somebody who left before names were kept has none. */
export const formerName = ({ userDatabaseId, label }: Former): string => label ?? `Person ${userDatabaseId}`;
