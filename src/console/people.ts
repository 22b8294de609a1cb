import { useQuery } from './hooks.ts';
import { personOf } from './parts.ts';

/** The members as choices of a filter, the signed-in one first. Empty while they are loaded, and for a key that cannot read them. */
export function usePeople(): readonly (readonly [id: string, name: string])[] {
  const viewer = useQuery('People', {}).data?.viewer;
  const users = (viewer?.organization?.members?.nodes ?? []).map(({ user }) => user);
  const isOwn = ({ id }: { readonly id: string }) => id === viewer?.user?.id;
  return [...users.filter(isOwn), ...users.filter((user) => !isOwn(user))].map((user) => [
    user.id,
    isOwn(user) ? `${personOf(user)} (you)` : personOf(user),
  ]);
}
