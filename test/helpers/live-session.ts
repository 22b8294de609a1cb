import { expect, inject } from 'vitest';
import { type GatewayProcess, freshDatabase, graphqlDoor, issueKey, startGateway } from './process.ts';
import { append, createSession, eventsOf, moveTo } from './sessions.ts';

/** A session that is read through one gateway process and written through another; their database is all they share. */
export interface LiveSession {
  readonly key: string;
  readonly id: string;
  /** Where to read: the same address for the whole test. */
  readonly url: string;
  /** Ends the reading process as a crash would, and starts it again at the same address. */
  restartReader(): Promise<void>;
  /** Appends events through the writing process, in batches of ten, numbered on by `eventData.index`. */
  write(count: number): Promise<void>;
  /** Cancels the session through the writing process, which ends every tail. */
  finish(): Promise<void>;
}

export async function startLiveSession(): Promise<LiveSession> {
  const env = { ...(await freshDatabase(inject('serverUrl'))), RATE_LIMIT_PER_MINUTE: '0', RUN_JOBS: 'false' };
  const writer = await startGateway(env);
  const key = await issueKey(env);
  let reader: GatewayProcess = await startGateway(env);
  const { url } = reader;
  const door = graphqlDoor(writer.url);
  const id = await createSession(door, key);
  let written = 0;
  return {
    key,
    id,
    url,
    async restartReader() {
      expect(await reader.end('SIGKILL')).toBeNull();
      reader = await startGateway({ ...env, PORT: new URL(url).port });
    },
    async write(count) {
      for (const end = written + count; written < end; written += 10)
        expect(await append(door, key, id, eventsOf(10, { from: written + 1 }))).toMatchObject({
          lastId: String(written + 10),
        });
    },
    finish: () => moveTo(door, key, id, 'CANCELLED'),
  };
}
