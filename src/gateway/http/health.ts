import { type HttpAnswer, answerJson } from '../../core/http/messages.ts';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { compareSchema } from '../../core/postgres/migrations.ts';
import { VERSION } from '../../core/version.ts';
import type { Dependencies } from '../dependencies.ts';

/** Whether the process runs; asks nothing else. */
export function live(): HttpAnswer {
  return answerJson({ status: 'live', version: VERSION });
}

/**
 * Whether requests can be served: the database answers, and its schema is the one this code needs; or the primary is away, and a replica can
 * serve what only reads.
 */
export async function ready({ database, replicas, log }: Dependencies): Promise<HttpAnswer> {
  try {
    const { pending } = await compareSchema(database.em.fork());
    if (pending.length === 0) return answerJson({ status: 'ready', version: VERSION });
    return notReady(`migrations are pending: ${pending.length}`);
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    if (isDatabaseAway(error) && (await replicas?.canServeReads()))
      return answerJson({ status: 'read-only', version: VERSION });
    return notReady('the database cannot be reached');
  }
}

function notReady(reason: string): HttpAnswer {
  return answerJson(
    { status: 'not ready', version: VERSION, error: reason },
    { status: 503, headers: { 'Retry-After': '1' } },
  );
}
