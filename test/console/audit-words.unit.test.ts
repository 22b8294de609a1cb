import { expect, test } from 'vitest';
import { OPERATION_WORDS, changeOf } from '../../src/console/audit-log/audit-words.ts';
import { routes } from '../../src/gateway/modules.ts';

/** A read, messages that are passed to MCP servers, which the audit log names by the call of a tool, and other paths of an operation. */
const UNNAMED = [
  'endMcpSession',
  'previewOrganizationInvitation',
  'sendMcpMessage',
  'sendOwnMcpMessage',
  'sendSessionMcpMessage',
  'unmarkSessionHandled',
  'updateEventPropertyByPath',
];

test('every operation of REST that changes something has words in the audit log', () => {
  const named = new Set(OPERATION_WORDS.flatMap(([, words]) => Object.keys(words)));
  const changing = routes.filter(({ method }) => method !== 'GET').map(({ operationId }) => operationId);
  expect(changing.filter((name) => !named.has(name)).toSorted()).toEqual(UNNAMED);
});

test('an entry says what was done, which fields changed, or what was refused', () => {
  const said = (
    operation: string,
    changedFields: readonly string[] | null = null,
    refusal: string | null = null,
    detail: string | null = null,
  ) => changeOf({ operation, changedFields, refusal, detail });
  expect([
    said('createApiKey'),
    said('updateSession', ['branchName', 'title', 'serverUrl']),
    said('updateSession', []),
    said('createApiKey', null, 'FORBIDDEN', 'the API key lacks the scope api_keys.write'),
    said('transitionSession', null, null, 'inProgress'),
    said('updateSession', ['visibility'], null, 'public'),
    said('updateSession', ['mode', 'title', 'visibility'], null, 'mode: planning, visibility: public'),
    said('pinSession', ['isPinned'], null, 'false'),
    said('updateWebhook', ['isEnabled'], null, 'true'),
    said('inviteOrganizationMember', null, null, 'admin'),
    said('completeMcpAuthorization'),
    said('applyRetention', null, null, '2 sessions, 0 event occurrences, 5 audit log entries'),
    said('signIn', null, null, 'KEY'),
    said('signIn', null, null, 'OIDC'),
    said('notYetKnown'),
  ]).toEqual([
    'Created the key',
    'Changed branch name, title, and server URL',
    'Changed nothing',
    'Tried: create API key',
    'Changed the state to in progress',
    'Changed visibility to public',
    'Changed mode, title, and visibility (mode: planning, visibility: public)',
    'Unpinned',
    'Enabled',
    'Invited somebody as admin',
    'Completed an authorization',
    'Deleted what is older than the retention: 2 sessions, 0 event occurrences, 5 audit log entries',
    'Signed in with key',
    'Signed in with OIDC',
    'Not yet known',
  ]);
});
