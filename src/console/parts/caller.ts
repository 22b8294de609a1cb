import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Answers } from '../generated/operation-types.ts';

type Viewer = Answers['Viewer']['viewer'];

/** The signed-in user, their key and their organization. */
export const CallerContext = createContext<Viewer | undefined>(undefined);

/** Whether the key of the caller has a scope: without it, what needs the scope is not offered. */
export const useScope = (scope: Viewer['scopes'][number]): boolean =>
  useContext(CallerContext)?.scopes.includes(scope) ?? false;

/** The role of the caller; null where they act in no organization. */
export const useRole = () => useContext(CallerContext)?.role;

/** Whether a caller has the role of an administrator, or acts in no organization. */
export const isAdministrator = (viewer: Pick<Viewer, 'role'> | undefined): boolean =>
  viewer?.role == null || viewer.role === 'ADMIN';

/** Whether the caller is an administrator: without the role, what needs it is not offered. */
export const useAdministration = (): boolean => isAdministrator(useContext(CallerContext));

/** The filter of the sessions behind costs, which a member sees of their own sessions only. */
export function useOwnCosts(): Readonly<Record<string, string>> {
  const viewer = useContext(CallerContext);
  const id = viewer?.user?.databaseId;
  return isAdministrator(viewer) || id === undefined ? EVERYBODY : { creator: id };
}
const EVERYBODY = {};

let reload: () => void = () => undefined;

/** Loads the caller again, after their name or that of their organization has changed. */
export function reloadCaller(): void {
  reload();
}

/** Names the function that loads the caller. */
export function loadCallerWith(load: () => void): void {
  reload = load;
}
