import { useAdministration, useScope } from '../parts/caller.ts';
import { useQuery } from '../parts/hooks.ts';
import { personOf } from '../parts/parts.tsx';

/** The members as choices of a filter, the signed-in one first, and for administrators the service accounts. Empty while they are loaded, and for a key that cannot read them. */
export function usePeople(): readonly (readonly [id: string, name: string])[] {
  const mayList = useScope('ORGANIZATIONS_WRITE');
  const isAdministrator = useAdministration() && mayList;
  const viewer = useQuery('People', { isAdministrator }).data?.viewer;
  const users = (viewer?.organization?.members?.nodes ?? []).map(({ user }) => user);
  const isOwn = ({ id }: { readonly id: string }) => id === viewer?.user?.id;
  const people = [...users.filter(isOwn), ...users.filter((user) => !isOwn(user))];
  return [
    ...people.map((user) => [user.databaseId, isOwn(user) ? `${personOf(user)} (you)` : personOf(user)] as const),
    ...(viewer?.organization?.serviceAccounts?.nodes ?? []).map(
      (account) => [account.databaseId, personOf(account)] as const,
    ),
  ];
}
