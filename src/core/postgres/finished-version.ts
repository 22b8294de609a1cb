import { type EntityManager, defineEntity, p } from '@mikro-orm/postgresql';
import { ConflictError } from '../errors.ts';
import type { WorkContext } from '../operation.ts';
import { VERSION } from '../version.ts';

const FinishedVersionSchema = defineEntity({
  name: 'FinishedVersion',
  tableName: 'finished_version',
  properties: {
    version: p.text().primary(),
    finishedAt: p.datetime(),
  },
});

/** A version of which the operator has said that no process of an earlier one is left. */
export class FinishedVersion extends FinishedVersionSchema.class {}
FinishedVersionSchema.setClass(FinishedVersion);

/** Notes that no process of an earlier version is left, which behind a pooler only the operator knows: `cli migrate --finish`. */
export async function finishUpgrade(em: EntityManager, finishedAt: Date): Promise<void> {
  await em.execute('insert into finished_version (version, finished_at) values (?, ?) on conflict do nothing', [
    VERSION,
    finishedAt,
  ]);
}

const PROCESSES = `select distinct application_name as name from pg_stat_activity
  where datname = current_database() and application_name ~ '^gateway($|[/ ])'`;

/**
 * The processes of versions before `since` that are connected, by their names; behind a pooler, where connections do not show it, the
 * answer of the operator. What such a version does not know how to refuse counts once there are none. This process knows everything
 * that it asks for, also in the build before a release.
 */
export async function findOlderProcesses(
  em: EntityManager,
  { since, isPooled }: { readonly since: string; readonly isPooled: boolean },
): Promise<readonly string[]> {
  const isOlder = (version: string) => isBefore(version, since) && isBefore(version, VERSION);
  if (isPooled) {
    const finished = await em.find(FinishedVersion, {});
    return finished.some(({ version }) => !isOlder(version))
      ? []
      : ['unknown behind the pooler: run "cli migrate --finish"'];
  }
  const processes = await em.execute<{ name: string }[]>(PROCESSES);
  // Those of 1.0 and before name no version.
  return processes.map(({ name }) => name).filter((name) => isOlder(/^gateway\/(\S+)/.exec(name)?.[1] ?? '0.0.0'));
}

/** For what versions before `since` would not refuse, or would ignore. @throws ConflictError while a process of one is running. */
export async function requireNoOlderProcess(
  { hasOlderProcess }: Pick<WorkContext, 'hasOlderProcess'>,
  since: string,
  refusal: string,
): Promise<void> {
  if (await hasOlderProcess(since))
    throw new ConflictError(
      'WRONG_STATE',
      `${refusal} while processes of an earlier version are running; end them first`,
    );
}

/** Whether a version comes before another one. What follows the three numbers, as in `1.1.0-rc.1`, does not count. */
function isBefore(version: string, other: string): boolean {
  const [left, right] = [version, other].map((each) => each.split('-')[0]?.split('.').map(Number) ?? []);
  const difference = left?.map((number, index) => number - (right?.[index] ?? 0)).find((each) => each !== 0) ?? 0;
  return difference < 0;
}
