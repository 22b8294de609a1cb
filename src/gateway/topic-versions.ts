import type { Sql } from '../core/postgres/reading/sql.ts';
import { apiKeyTopic, readKeyVersions } from '../domains/api-keys/public.ts';
import { mcpConnectionTopic, readConnectionVersions } from '../domains/mcp-connections/public.ts';
import {
  readLastSessionChanges,
  readSessionVersions,
  sessionTopic,
  sessionsTopic,
} from '../domains/sessions/public.ts';
import { deletionJobTopic, readDeletionJobVersions } from '../domains/user-deletions/public.ts';

interface Reading {
  readonly sql: Sql;
  readonly now: () => Date;
}

/** The kinds of notification topics, with the query for the versions of their objects. */
const FOLLOWED = [
  { topicOf: sessionTopic, read: readSessionVersions },
  { topicOf: sessionsTopic, read: readLastSessionChanges },
  { topicOf: apiKeyTopic, read: readKeyVersions },
  { topicOf: mcpConnectionTopic, read: readConnectionVersions },
  { topicOf: deletionJobTopic, read: readDeletionJobVersions },
] as const;

/** The current version of each topic, read with one statement for each kind of topic. */
export function versionsOf(reading: Reading): (topics: readonly string[]) => Promise<ReadonlyMap<string, string>> {
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
