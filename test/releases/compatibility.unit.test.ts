import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';
import { checkout } from '../support/processes/programs.ts';
import { breakingChanges } from '../tools/openapi-facts.ts';
import { type Contract, announcements, contractOf, majorOf, releasedContracts } from '../tools/released.ts';

/** The promises of docs/versions.md, against each release. GraphQL is in test/conformance/breaking-changes.test.ts. */

const releases = releasedContracts();
const [released] = releases;
const current = contractOf(released.date);
const changelog = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8');

/** With a new major version, a change is allowed when the changelog announces it. */
const forbidden = (changes: readonly string[], { version }: Contract) =>
  majorOf(VERSION) === majorOf(version)
    ? changes
    : changes.filter(
        (change) => !announcements(changelog).some((line) => line.includes(change.split(' lost: ')[0] ?? '')),
      );

describe.each(releases)('of $version', (release) => {
  test('no operation, member or value of REST is taken away, and no new one is required', () => {
    expect(forbidden(breakingChanges(release.openapi, current.openapi), release)).toEqual([]);
  });

  test.for(Object.keys(release.names))('none of the %s is taken away', (kind) => {
    const lost = release.names[kind]?.filter((name) => !current.names[kind]?.includes(name)) ?? [];
    expect(
      forbidden(
        lost.map((name) => `${kind}: ${name}`),
        release,
      ),
    ).toEqual([]);
  });

  test('the database can be migrated: no released migration is changed or taken away', () => {
    expect(current.migrations).toMatchObject(release.migrations);
  });
});

test('what is newly deprecated stays for at least six months after the last release', () => {
  const reasonsOf = (schema: string) =>
    [...schema.matchAll(/@deprecated\(reason: "(.*?[^\\])"\)/g)].map(([, reason]) => reason ?? '');
  const dateOf = (reason: string) => /Removed on (\d{4}-\d\d-\d\d)\.$/.exec(reason)?.[1] ?? 'no date';
  const known = reasonsOf(released.graphql);
  const earliest = new Date(released.date);
  earliest.setUTCMonth(earliest.getUTCMonth() + 6);
  const early = reasonsOf(current.graphql)
    .filter((reason) => !known.includes(reason) || released.version === VERSION)
    .filter((reason) => !(Date.parse(dateOf(reason)) >= earliest.getTime()));
  expect(early).toEqual([]);
});

test('the changelog has a section with the day of each release, below an Unreleased one', () => {
  const headings = [...changelog.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings[0]).toBe('[Unreleased]');
  expect(headings).toContain(`[${released.version}] - ${released.date}`);
});

describe('two OpenAPI documents', () => {
  const document = (operation: object, rest: object = {}) => ({ paths: { '/things': { post: operation } }, ...rest });
  const answer = (schema: object) => ({ responses: { 200: { content: { 'application/json': { schema } } } } });
  const body = (schema: object) => ({ requestBody: { content: { 'application/json': { schema } } } });
  const object = (properties: object, required: string[] = []) => ({ type: 'object', properties, required });
  const text = { type: 'string' };

  test.for([
    ['an operation', document({}), { paths: {} }],
    ['a status', document(answer(text)), document({ responses: { 201: {} } })],
    ['a member of an answer', document(answer(object({ a: text }))), document(answer(object({})))],
    ['that it is always there', document(answer(object({ a: text }, ['a']))), document(answer(object({ a: text })))],
    ['its type', document(answer(object({ a: text }))), document(answer(object({ a: { type: 'integer' } })))],
    [
      'that it is never null',
      document(answer(object({ a: text }))),
      document(answer(object({ a: { type: ['string', 'null'] } }))),
    ],
    ['a value of a request', document(body({ enum: ['a', 'b'] })), document(body({ enum: ['a'] }))],
    ['an optional member', document(body(object({ a: text }))), document(body(object({ a: text }, ['a'])))],
    ['a parameter', document({ parameters: [{ name: 'a', in: 'query', schema: text }] }), document({})],
    [
      'a member behind a reference, in a list of one of several',
      document(answer({ $ref: '#/components/a' }), {
        components: { a: { anyOf: [{ type: 'array', items: object({ a: text }) }] } },
      }),
      document(answer({ $ref: '#/components/a' }), {
        components: { a: { anyOf: [{ type: 'array', items: object({}) }] } },
      }),
    ],
  ] as const)('%s is lost', ([, before, after]) => {
    expect(breakingChanges(before, before)).toEqual([]);
    expect(breakingChanges(before, after)).not.toEqual([]);
  });

  test.for([
    ['an operation', { paths: {} }, document({})],
    ['a member of an answer', document(answer(object({}))), document(answer(object({ a: text }, ['a'])))],
    ['a value of an answer', document(answer({ enum: ['a'] })), document(answer({ enum: ['a', 'b'] }))],
    ['an optional member of a request', document(body(object({}))), document(body(object({ a: text })))],
    ['that null is accepted', document(body(text)), document(body({ type: ['string', 'null'] }))],
    ['that a member may be absent', document(body(object({ a: text }, ['a']))), document(body(object({ a: text })))],
  ] as const)('%s is new and breaks nothing', ([, before, after]) => {
    expect(breakingChanges(before, after)).toEqual([]);
  });
});
