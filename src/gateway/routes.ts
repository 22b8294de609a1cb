import { modules } from './modules.ts';

/** All documented REST routes. */
export const routes = modules.flatMap((module) => module.routes);

/** Pages of domain modules that need no API key. */
export const publicPages = modules.flatMap((module) => module.pages);
