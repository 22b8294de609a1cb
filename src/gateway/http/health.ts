import { type HttpAnswer, answerJson } from '../../core/http/messages.ts';
import { isDatabaseAway } from '../../core/postgres/failures.ts';
import { compareSchema } from '../../core/postgres/migrations.ts';
import { BUILD, VERSION } from '../../core/version.ts';
import type { Dependencies } from '../dependencies.ts';

const READ_ONLY = `select current_setting('transaction_read_only')::boolean as "isReadOnly"`;

const VERSIONS = { version: VERSION, build: BUILD };

/** Liveness: whether the process runs. It checks nothing else. */
export const live = (): HttpAnswer => answerJson({ status: 'live', ...VERSIONS });

/**
 * Readiness: the database answers and accepts writes, and its schema is up to date. When the primary is unreachable and
 * a replica can serve reads, the answer is `read-only`.
 */
export async function ready({ database, replicas, log }: Dependencies): Promise<HttpAnswer> {
  try {
    const em = database.em.fork();
    const { pending } = await compareSchema(em);
    if (pending.length > 0) return notReady(`migrations are pending: ${pending.length}`);
    const [row] = await em.execute<{ isReadOnly: boolean }[]>(READ_ONLY);
    if (!row?.isReadOnly) return answerJson({ status: 'ready', ...VERSIONS });
    return (await replicas?.canServeReads()) ? readOnly() : notReady('the database accepts no writes');
  } catch (error) {
    log.warn({ err: error }, 'not ready');
    if (isDatabaseAway(error) && (await replicas?.canServeReads())) return readOnly();
    return notReady('the database is unreachable');
  }
}

const readOnly = () => answerJson({ status: 'read-only', ...VERSIONS });

const notReady = (reason: string): HttpAnswer =>
  answerJson({ status: 'not ready', ...VERSIONS, error: reason }, { status: 503, headers: { 'Retry-After': '1' } });
