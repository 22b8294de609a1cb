import { modules } from './modules.ts';

/** The entities of all tables. */
export const entities = modules.flatMap((module) => module.entities);
