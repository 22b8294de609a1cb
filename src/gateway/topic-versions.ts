import type { OperationContext } from '../core/operation.ts';
import { modules } from './modules.ts';

const FOLLOWED = modules.flatMap((module) => module.topics);

/** The current version of each topic, read with one statement for each kind of topic. */
export function versionsOf(
  reading: Pick<OperationContext, 'sql' | 'now'>,
): (topics: readonly string[]) => Promise<ReadonlyMap<string, string>> {
  return async (topics) => {
    const found = await Promise.all(
      FOLLOWED.map(async ({ topicOf: topicOfId, read }) => {
        const prefix = topicOfId('');
        const ids = topics.flatMap((topic) => (topic.startsWith(prefix) ? [topic.slice(prefix.length)] : []));
        const versions = ids.length > 0 ? await read(reading, ids) : new Map<string, string>();
        return Array.from(versions, ([id, version]) => [topicOfId(id), version] as const);
      }),
    );
    return new Map(found.flat());
  };
}
