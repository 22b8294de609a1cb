import { Response } from '@whatwg-node/fetch';
import { pendingMigrations } from '../core/database.ts';
import type { Dependencies } from './dependencies.ts';

/** Whether the process runs; asks nothing else. */
export function live(): Response {
  return Response.json({ status: 'live' });
}

/** Whether requests can be served: the database answers, and its schema is the one this code needs. */
export async function ready({ database, log }: Dependencies): Promise<Response> {
  try {
    const pending = await pendingMigrations(database.em.fork());
    if (pending.length === 0) return Response.json({ status: 'ready' });
    return notReady(`migrations are pending: ${pending.length}`);
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    return notReady('the database cannot be reached');
  }
}

function notReady(reason: string): Response {
  return Response.json({ status: 'not ready', error: reason }, { status: 503, headers: { 'Retry-After': '1' } });
}
