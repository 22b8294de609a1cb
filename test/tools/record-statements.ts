/**
 * Records the statements that a version sends: `node test/tools/record-statements.ts COMMIT VERSION`. Tests of that commit run in a folder of
 * their own; each distinct text is kept with the shortest of its values. A test of upgrades then sends them during the migrations.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { RELEASES, STATEMENTS_FILE, type RecordedStatement } from './released.ts';

const [commit = 'HEAD', version = ''] = process.argv.slice(2);
const ROOT = join(import.meta.dirname, '../..');

/** All writes, all lists, live tails, the feed, webhooks and jobs. */
const TESTS = [
  'test/across/audit-of-writes.test.ts',
  'test/across/generic-plans.test.ts',
  'test/core/jobs.test.ts',
  'test/domains/feed/feed.test.ts',
  'test/domains/session-events/append.test.ts',
  'test/domains/session-events/subscription.test.ts',
  'test/domains/webhooks/delivery.test.ts',
];

/** Writes the statements of each process to a file of its own. */
const RECORDER = `import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
const known = new Map();
subscribe('gateway:postgres:sent', ({ text, values }) => {
  const json = JSON.stringify(values ?? []);
  if (json.length >= (known.get(text) ?? Infinity)) return;
  known.set(text, json.length);
  appendFileSync(process.env.RECORDED + '/' + process.pid, JSON.stringify([text, json]) + '\\n');
});
`;

/** Other statements change no rows that a migration changes, or are those of tests. */
const IS_KEPT = /^\s*(?:select|with|insert|update|delete)\b/i;
const IS_OF_TESTS = /mikro_orm_migrations|pg_stat_activity|pg_locks|pg_sleep|pg_advisory_lock|information_schema/i;

/** Of thousands of statements those that have a word, or a set of tables, that no longer one of the same verb has. */
function withoutRepeats(statements: readonly RecordedStatement[]): RecordedStatement[] {
  const known = new Set<string>();
  return statements
    .toSorted((one, other) => other.text.length - one.text.length || (one.text < other.text ? -1 : 1))
    .filter(({ text }) => {
      const [verb = ''] = text.trim().toLowerCase().split(/\s/);
      const tables = [...text.matchAll(/(?:from|join|into|update) "?(\w+)/g)].flatMap(([, table]) => table ?? []);
      const words = [...text.replaceAll(/'[^']*'/g, '').matchAll(/[a-z_]{3,}/g)].map(([word]) => word);
      const marks = [...words, [...new Set(tables)].toSorted().join()].map((mark) => `${verb} ${mark}`);
      const isNew = marks.some((mark) => !known.has(mark));
      for (const mark of marks) known.add(mark);
      return isNew;
    });
}

const folder = mkdtempSync(join(tmpdir(), 'statements-'));
try {
  const [code, recorded] = [join(folder, 'code'), join(folder, 'recorded')] as const;
  for (const each of [code, recorded]) mkdirSync(each);
  const archive = join(folder, 'archive.tar');
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: ROOT });
  execFileSync('tar', ['-xf', archive, '-C', code]);
  symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(code, 'node_modules'));
  const recorder = join(folder, 'recorder.mjs');
  writeFileSync(recorder, RECORDER);
  const args = ['run', '--project', 'behavior', ...TESTS, '--maxWorkers=1'];
  const env = { ...process.env, RECORDED: recorded, NODE_OPTIONS: `--import ${recorder}` };
  // What a test of that time expects does not matter.
  spawnSync(join(code, 'node_modules/.bin/vitest'), args, { cwd: code, env, stdio: 'inherit' });
  const shortest = new Map<string, string>();
  for (const file of readdirSync(recorded)) {
    for (const line of readFileSync(join(recorded, file), 'utf8').trim().split('\n')) {
      const [text, values] = JSON.parse(line) as [string, string];
      if (!IS_KEPT.test(text) || IS_OF_TESTS.test(text)) continue;
      if (values.length < (shortest.get(text)?.length ?? Infinity)) shortest.set(text, values);
    }
  }
  const statements = withoutRepeats(
    [...shortest].map(([text, values]) => ({ text, values: JSON.parse(values) as unknown[] })),
  );
  const file = join(RELEASES, version, STATEMENTS_FILE);
  writeFileSync(file, gzipSync(JSON.stringify(statements), { level: 9 }));
  process.stdout.write(`${statements.length} statements: ${file}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
