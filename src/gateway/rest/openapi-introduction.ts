/** What openapi.json says beside its operations: the introduction, and what each tag is about. */

/** The tags in the order in which they are shown. Every route has one of them. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  {
    name: 'Sessions',
    description:
      'Runs of coding agents and the events that their runners record. A session is `public` (read by the whole organization) or `private` (read by its creator and administrators). Its creator and administrators change it.',
  },
  {
    name: 'MCP connections',
    description:
      'Model Context Protocol servers that agents may use. A stdio command is stored and never run. A remote server is connected, and authorized where it asks for that. Values of headers and environment variables are never answered.',
  },
  {
    name: 'Event definitions',
    description:
      'The schema of tracked events: definitions and their properties. Needs the scope `behavioral_events.event_definitions.read_write`, and a subscription of the level `professional` or higher.',
  },
  {
    name: 'Event occurrences',
    description:
      'What happened, checked against its definition. Sending needs the scope `analytics.behavioral_events.send`, reading the scope `behavioral_events.event_definitions.read_write`.',
  },
  {
    name: 'Organizations',
    description: 'Tenants. Nothing of one organization is visible in another: its ids answer 404, never 403.',
  },
  { name: 'API keys', description: 'Keys of users. The secret of a key is shown once, when it is created.' },
  { name: 'Users', description: 'The account of the caller.' },
  {
    name: 'Social publishing (deprecated)',
    description:
      'The broadcasts of an earlier API. Stable, and kept for existing callers; needs the scope `social`. Broadcasts are stored; publishing them is not done here.',
  },
];

export const INTRODUCTION = `Sessions of coding agents with their events, MCP connections, API keys, organizations and users under \`/v1\`; event definitions and occurrences under \`/events\`. Everything here can be done over GraphQL too, at \`/graphql\`, except social publishing.

## API keys

Send a key with every request: \`Authorization: Bearer wgk_…\`. A key in the query is not accepted. The command line creates the first key (\`npm run --silent cli -- keys create --email you@example.com\`), \`POST /v1/api-keys\` creates others. A missing, malformed, unknown, expired or revoked key is 401.

A key has scopes. Each operation names the scope that it needs; without it the answer is 403. A key never creates a stronger one.

## Organizations

A request acts in one organization. A key that is bound to an organization always acts there. An unbound key acts in the organization that the header \`X-Organization-Id\` names, by id or slug, or in the only one of its user. An operation that needs an organization and has none answers 400.

People join by invitation. An administrator invites an e-mail address (GraphQL \`inviteOrganizationMember\`) and passes on the token, which is valid for 7 days and serves once. Somebody without an account accepts at \`POST /v1/invitations/accept\`, the one operation here that needs no API key, and gets their first key; somebody with an account accepts with their key (GraphQL \`acceptOrganizationInvitation\`).

## Ids

\`GET /v1/sessions\`, \`GET /v1/mcp-connections\` and \`GET /v1/api-keys\` list what the other paths take ids of. What was read can be sent back: fields marked \`readOnly\` are the ones that no request takes. In a PATCH a missing field stays as it is, and \`null\` clears a field that may be null.

## Errors

Everywhere but under \`/events\` an error is \`{"error": "…"}\`. The message names each field at fault by its path, with the bound that it breaks, such as \`headers.X-Team: must be at most 16384 characters\`; several faults are joined by \`; \`.

Under \`/events\` an error has a \`category\`, the \`correlationId\` of the request, and \`errors\` with the message, code and place (\`in\`) of each fault.

Checks run in this order: 401; 404 or 405 for the address; 403 for scope, subscription and role; 413, 415 and 400 for the input; 404 or 403 for the object; 409. What belongs to somebody else answers 404 like what does not exist. Unknown properties are 400 in every body and query.

Every answer has an \`X-Request-Id\`; it finds the request in the log.

## Pages

Lists under \`/v1\` answer \`{"items": [], "nextCursor": null}\`. Send \`nextCursor\` as \`cursor\` to read on; it is null at the end. \`limit\` is 1 to 100, 50 when absent. Cursors stay valid while objects come and go.

Session events are a stream rather than a list: \`nextCursor\` is always a string, so that you can poll with it. To read to the present end, follow the \`Link\` header with \`rel="next"\`, which is there only while more events follow. \`limit\` is 1 to 1000.

Lists under \`/events\` answer \`results\` and, while more follow, \`paging.next\` with a cursor (\`after\`) and an absolute address (\`link\`).

## Live tail

\`GET /v1/sessions/{sessionId}/events\` with \`Accept: text/event-stream\` answers server-sent events: the events after \`cursor\` (or \`Last-Event-ID\`), then each new one as it is recorded. \`id:\` is the event's id, which is also the cursor; \`data:\` is the event. A comment is sent every 8 seconds. \`event: end\` means that the session is finished, \`event: error\` with \`{"error": "…"}\` that there is no more to see.

## Idempotency

Send an \`Idempotency-Key\` of up to 255 characters with a write to make a retry safe. The same key with the same input answers what the first request answered, for 24 hours, with \`Idempotent-Replayed: true\`; the same key with other input is 409. Errors are not stored.

## Limits

A key may make 100 requests a minute unless the operator has set another limit: see \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`. Beyond it the answer is 429 with \`Retry-After\`. From one address, 60 requests a minute are answered 401, and 60 of each operation that needs no key are served; the next one is 429. Retry 429 and 503 after that time, and 500 and 502 with an idempotency key. A body has at most 4 MiB, an answer at most 16 MiB.
`;
