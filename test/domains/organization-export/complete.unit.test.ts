import { expect, test } from 'vitest';
import { organizationExportRoutes } from '../../../src/domains/organization-export/rest.ts';
import { modules } from '../../../src/gateway/modules.ts';

/** What no export has, and why. An entity of a noun that exports nothing must be here. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  Organization: 'the first line has it',
  Membership: 'each is a line of the kind `member`',
  User: 'members are named by their lines',
  OAuthGrant: 'belongs to a person',
  OAuthArtifact: 'is a secret',
  DeletionJob: 'is about an account that is gone',
  FeedStream: 'is the number of the last entry of the feed',
  FeedEntry: 'says for 30 days that another object has changed',
  OperationManifest: 'is made of the code of a client',
  PublishedDocument: 'is made of the code of a client',
  RunningExport: 'ends with the export',
  StoredSecret: 'is a secret',
  RateLimit: 'counts the requests of a minute',
  IdempotencyKey: 'is kept for a day',
  FinishedVersion: 'belongs to the gateway',
};

test('each noun exports something, or says why it does not', () => {
  const silent = modules.filter((module) => module.exports.length === 0);
  expect(silent.flatMap(({ entities }) => entities.map(({ name }) => name)).toSorted()).toEqual(
    Object.keys(NOT_EXPORTED).toSorted(),
  );
});

test('each kind of lines is exported once, and what it follows before it', () => {
  const all = modules.flatMap((module) => module.exports);
  const kinds = all.map(({ kind }) => kind);
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(all.flatMap(({ below = [] }) => below).filter((below) => !kinds.includes(below))).toEqual([]);
});

test('the REST reference names each kind of lines', () => {
  const [organization] = organizationExportRoutes;
  const text = Object.values(organization?.mediaTypes ?? {}).join();
  const named = new Set([...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name));
  const kinds = modules.flatMap((module) => module.exports).map(({ kind }) => kind);
  expect(named).toEqual(new Set([...kinds, 'kind', 'export', 'end', 'counts']));
});
