import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Answers } from './operation-types.ts';

type Viewer = Answers['Viewer']['viewer'];

/** The signed-in user, their key and their organization. */
export const CallerContext = createContext<Viewer | undefined>(undefined);

/** Whether the key of the caller has a scope: without it, what needs the scope is not offered. */
export function useScope(scope: Viewer['scopes'][number]): boolean {
  return useContext(CallerContext)?.scopes.includes(scope) ?? false;
}
