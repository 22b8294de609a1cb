/** The database in which OpenCode keeps its sessions since version 1.2. Each of them is a transcript of the lines that its files had before. */

import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { say, textOf } from './common.ts';

type Row = Readonly<Record<string, unknown>>;

const databasePath = () =>
  join(process.env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'opencode', 'opencode.db');

/** Whether the path is one of a session in the database, which is below that of the database. */
export const isInDatabase = (path: string) => basename(dirname(path)) === 'opencode.db';

/** Undefined where this Node.js has no SQLite. */
const sqlite = () => process.getBuiltinModule?.('node:sqlite');

/** Reads rows; none if that is not possible. */
function rowsOf(path: string, query: string, ...values: readonly string[]): Row[] {
  const { DatabaseSync } = sqlite() ?? {};
  if (!DatabaseSync) return [];
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare(query).all(...values);
  } finally {
    database.close();
  }
}

/** The sessions of the database, with the paths and the times that they have for the recorder. */
export function sessionsInDatabase(): { path: string; size: number; mtimeMs: number }[] {
  const path = databasePath();
  if (!fs.existsSync(path)) return [];
  if (!sqlite()) {
    say(`${path} is not read, which needs Node.js 22.13 or later`);
    return [];
  }
  try {
    const rows = rowsOf(
      path,
      `select s.id, max(s.time_updated, coalesce(max(p.time_updated), 0)) as time, count(p.id) as parts
       from session s left join part p on p.session_id = s.id group by s.id order by s.id`,
    );
    return rows.map(({ id, time, parts }) => ({
      path: join(path, `${String(id)}.json`),
      size: Number(parts) + 1,
      mtimeMs: Number(time),
    }));
  } catch (error) {
    say(`${path} is not read: ${textOf(error)}`);
    return [];
  }
}

/** The lines of a session, as its files had them. */
export function* linesInDatabase(path: string): Generator {
  const [database, id] = [dirname(path), basename(path, '.json')];
  const [session] = rowsOf(database, 'select * from session where id = ?', id);
  if (!session) return;
  const { project_id: projectID, parent_id: parentID, directory, title, time_created: created } = session;
  // Its members that change with each message are left out.
  yield { id, projectID, ...(parentID !== null && { parentID }), directory, title, time: { created } };
  const parts = Map.groupBy(
    rowsOf(database, 'select id, message_id, data from part where session_id = ? order by id', id),
    ({ message_id: message }) => message,
  );
  const messages = 'select id, data from message where session_id = ? order by time_created, id';
  for (const message of rowsOf(database, messages, id)) {
    yield { id: message['id'], sessionID: id, ...dataOf(message) };
    for (const part of parts.get(message['id']) ?? [])
      yield { id: part['id'], messageID: message['id'], sessionID: id, ...dataOf(part) };
  }
}

function dataOf({ data }: Row): object {
  try {
    return JSON.parse(String(data)) as object;
  } catch {
    return {};
  }
}
