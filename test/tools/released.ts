import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SCOPES } from '../../src/core/access.ts';
import { SETTINGS } from '../../src/core/config.ts';
import { FEED_TYPES } from '../../src/core/feed.ts';
import { VERSION } from '../../src/core/version.ts';
import { FORMAT_NAMES } from '../../src/domains/session-events/public.ts';
import { contracts } from '../../src/gateway/print-contracts.ts';
import { COMMANDS } from '../../src/operator/command.ts';
import { metricsOfGateway } from './dashboard.ts';

/** What docs/versions.md promises, of this code and of the last release. `npm run release` writes the files in test/releases. */

const ROOT = join(import.meta.dirname, '../..');
export const RELEASES = join(ROOT, 'test/releases');

export interface Contract {
  readonly version: string;
  /** The day of the release. */
  readonly date: string;
  readonly graphql: string;
  readonly openapi: object;
  /** Names that others use, by kind: none is taken away. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** The SHA-256 of each migration: a database of the release must be migrated by what comes after them. */
  readonly migrations: Readonly<Record<string, string>>;
}

export function contractOf(date: string): Contract {
  const migrations = readdirSync(join(ROOT, 'migrations')).filter((file) => file.endsWith('.ts'));
  return {
    version: VERSION,
    date,
    graphql: contracts['schema.graphql'](),
    openapi: JSON.parse(contracts['openapi.json']()) as object,
    names: {
      settings: SETTINGS,
      scopes: SCOPES,
      'types of the feed': FEED_TYPES,
      formats: FORMAT_NAMES,
      metrics: metricsOfGateway().map(({ name, labels }) => `${name}{${labels.join()}}`),
      commands: Object.keys(COMMANDS),
    },
    migrations: Object.fromEntries(
      migrations.map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(ROOT, 'migrations', file)))
          .digest('hex'),
      ]),
    ),
  };
}

const numbersOf = (version: string) => version.split('.').map(Number);
export const majorOf = (version: string): number => numbersOf(version)[0] ?? 0;

/** The versions with a file of this name, oldest first. */
export function releasesWith(file: string): string[] {
  return readdirSync(RELEASES)
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version) && readdirSync(join(RELEASES, version)).includes(file))
    .toSorted((one, other) => {
      const [left, right] = [numbersOf(one), numbersOf(other)];
      return left.map((number, index) => number - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
    });
}

/** A statement that a version sends, as `test/tools/record-statements.ts` keeps it. */
export interface RecordedStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export const STATEMENTS_FILE = 'statements.json.gz';
export const CONTRACT_FILE = 'contract.json.gz';

export function readReleased(version: string, file: string): unknown {
  return JSON.parse(gunzipSync(readFileSync(join(RELEASES, version, file))).toString());
}

/** What each release promised, the last one first. */
export function releasedContracts(): [Contract, ...Contract[]] {
  const [last, ...earlier] = releasesWith(CONTRACT_FILE)
    .toReversed()
    .map((version) => readReleased(version, CONTRACT_FILE) as Contract);
  if (last === undefined) throw new Error('no release: run npm run release');
  return [last, ...earlier];
}

/** The lines of the changelog that announce what breaks in the next version. */
export function announcements(changelog: string): string[] {
  const [, unreleased = ''] = /^## \[Unreleased\]\n([^]*?)^## /m.exec(changelog) ?? [];
  return unreleased.split('\n').filter((line) => line.includes('Breaking:'));
}
