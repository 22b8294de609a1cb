import { expect, test } from 'vitest';
import { enumName, enumValue, enumValues, inGraphQL, inRest, wording } from '../../../src/core/text/wording.ts';

test('a message has the value names of each API', () => {
  const message = wording`at most ${3} with ${enumValue('inProgress')} in ${'a\\b'}`;
  expect(message).toEqual({ rest: 'at most 3 with inProgress in a\\b', graphql: 'at most 3 with IN_PROGRESS in a\\b' });
  expect([inRest(message), inGraphQL(message)]).toEqual([message.rest, message.graphql]);
  expect([inRest('the same'), inGraphQL('the same')]).toEqual(['the same', 'the same']);
});

test('several values are separated by commas, or as given', () => {
  const values = ['queued', 'inProgress'];
  expect(enumValues(values)).toEqual({ rest: 'queued, inProgress', graphql: 'QUEUED, IN_PROGRESS' });
  expect(enumValues(values, ' or ')).toEqual({ rest: 'queued or inProgress', graphql: 'QUEUED or IN_PROGRESS' });
});

test.each([
  ['free', 'FREE'],
  ['inProgressNow', 'IN_PROGRESS_NOW'],
  ['sessions.events.read', 'SESSIONS_EVENTS_READ'],
])('the GraphQL name of %s is %s', (value, name) => {
  expect(enumName(value)).toBe(name);
});
