import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../src/core/config.ts';
import { OIDC_ENVIRONMENT } from '../../src/core/oidc-settings.ts';
import { checkout } from '../support/processes/programs.ts';

const read = (file: string) => readFileSync(join(checkout, file), 'utf8');

/** What the image of PostgreSQL, psql and Node.js take. */
const OF_OTHERS = new Set(['POSTGRES_PASSWORD', 'ON_ERROR_STOP', 'NODE_COMPILE_CACHE']);
const ASSIGNED = /(?:^|[\s{[#-])(?:name: )?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|HOST|PORT)\b(?=\s*[:=,])/gm;
const settingsIn = (file: string) => new Set([...read(file).matchAll(ASSIGNED)].map(([, name = '']) => name));

const FILES = [
  'compose.yaml',
  ...globSync('deploy/kubernetes/**/*.yaml', { cwd: checkout }),
  ...globSync('deploy/systemd/*', { cwd: checkout }),
];

test.each(FILES)('%s sets only what the gateway knows', (file) => {
  expect(
    [...settingsIn(file)].filter((name) => !SETTINGS.some((known) => known === name) && !OF_OTHERS.has(name)),
  ).toEqual([]);
});

test('the files have settings', () => {
  const found = FILES.flatMap((file) => [...settingsIn(file)]);
  expect(found).toEqual(
    expect.arrayContaining(['DATABASE_URL', 'ENCRYPTION_KEYS', 'RUN_JOBS', 'WORKER_PORT', 'METRICS_TOKEN']),
  );
});

test.each([
  [['deploy/systemd/environment.example']],
  [['deploy/kubernetes/base/configuration.yaml', 'deploy/kubernetes/secret.example.yaml']],
])('%s list each setting of the sign-in with an identity provider', (files) => {
  const listed = new Set(files.flatMap((file) => [...settingsIn(file)]));
  expect(Object.keys(OIDC_ENVIRONMENT).filter((name) => !listed.has(name))).toEqual([]);
});

test('every setting is read', () => {
  const declared = ['src/core/config.ts', 'src/core/oidc-settings.ts'];
  const sources = globSync('{src,bin}/**/*', { cwd: checkout, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length + 1))
    .filter((file) => /\.(?:tsx?|mjs)$|^bin\//.test(file) && !declared.includes(file));
  const code = sources.map(read).join('\n');
  const isRead = (name: string) =>
    new RegExp(`\\b${name}\\b`).test(code) ||
    [...read(declared[1] ?? '').matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
  expect(SETTINGS.filter((name) => !isRead(name))).toEqual([]);
});
