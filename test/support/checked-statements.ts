// Checks the statements that the tests of a file send: what several tables of an organization need, so that one shard can answer, and that
// optional conditions are left out of the text.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { SENT, type SentStatement } from '../../src/core/postgres/driver/statement-channels.ts';
import { faultsOf, optionalConditionsOf } from './statement-faults.ts';

const script = readFileSync(join(import.meta.dirname, '../../deploy/citus.sql'), 'utf8');
/** The tables that are distributed by organization. */
const tables = new Set([...script.matchAll(/\('(\w+)', 'distributed'\)/g)].map(([, name = '']) => name));

/** Statements that are allowed all the same, by a part of their text, each with the reason. */
const OF_A_TEST = 'a test fills or reads tables of one shard or of a PostgreSQL alone';
const OF_A_MIGRATION = 'a migration runs before tables are distributed';
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'insert into artifact select (p).*': OF_A_TEST,
  'insert into event_occurrence_uuid (definition_id, uuid, organization_id, expires_at)\n    select': OF_A_TEST,
  'insert into event_occurrence (definition_id, occurred_at, id, organization_id, received_at, uuid, properties)':
    OF_A_TEST,
  'insert into pull_request\n': OF_A_TEST,
  'insert into pull_request select (p).*': OF_A_TEST,
  "from event_property p join event_definition d on d.id = p.definition_id where d.name = 'going'": OF_A_TEST,
  'update event_property p set options': OF_A_TEST,
  'delete from event_property p using event_definition d': OF_A_TEST,
  'select 1 from event_property p join event_definition d': OF_A_TEST,
  'insert into artifact select gen_random_uuid()': OF_A_TEST,
  'from session where creator_id = $1) as sessions': OF_A_TEST,
  'select s.id from session s join session_stream st': OF_A_TEST,
  'select distinct e.session_id from session_event e': OF_A_TEST,
  'from session_event, generate_series(2, 20000)': OF_A_TEST,
  'insert into "session_search" ("session_id", "organization_id", "indexed_id", "version") select "id", "organization_id", 0':
    OF_A_MIGRATION,
};

/** The statements of pg-boss are its own. */
const OF_A_LIBRARY = /\bpgboss\./;

const known = new Map<string, readonly string[]>();

function note(message: unknown): void {
  const { text } = message as SentStatement;
  if (!known.has(text))
    known.set(text, [
      ...(isException(text) ? [] : faultsOf(text, tables)),
      ...(OF_A_LIBRARY.test(text) ? [] : optionalConditionsOf(text)),
    ]);
}

function isException(text: string): boolean {
  return Object.keys(EXCEPTIONS).some((part) => text.includes(part));
}

beforeAll(() => SENT.subscribe(note));

afterAll(() => {
  SENT.unsubscribe(note);
  const faults = [...known].filter(([, found]) => found.length > 0);
  if (faults.length > 0) throw new Error(faults.map(([text, found]) => `${found.join('; ')}: ${text}`).join('\n\n'));
});
