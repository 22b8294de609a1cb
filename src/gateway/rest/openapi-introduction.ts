import { MAX_ANSWER_BYTES, inMib, pageBytesOf } from '../../core/answer-size.ts';
import { MAX_BODY_BYTES } from '../../core/http/request-body.ts';

/** The introduction and the tags of openapi.json. */

/** The tags in display order. Every route has one of them. */
export const TAGS: readonly { readonly name: string; readonly description: string }[] = [
  {
    name: 'Feed',
    description:
      'What has changed in the organization, for programs that wait for it: sessions, MCP connections, event definitions, occurrences and members. Poll pages, or follow the stream.',
  },
  {
    name: 'Webhooks',
    description:
      'Addresses that get the entries of the feed as signed messages (Standard Webhooks), one request at a time and in their order. Only administrators see them. `docs/webhooks.md` describes receivers.',
  },
  {
    name: 'Audit log',
    description:
      'Who changed what, when and from where, for administrators and for programs that keep it elsewhere. Needs the scope `audit_log.read`.',
  },
  {
    name: 'Operation manifests',
    description:
      'The GraphQL documents that a version of a client sends, published so that its requests can name them by id. Only administrators publish them.',
  },
  {
    name: 'Sessions',
    description:
      'Runs of coding agents, and the events that their runners record. All members of the organization can read a `public` session; only its creator and administrators can read a `private` one. Only the creator and administrators can change a session.',
  },
  {
    name: 'MCP connections',
    description:
      'Model Context Protocol servers that agents can use. The command of a stdio server is stored and never run. A remote server is connected, and authorized if it requires that. Values of headers and environment variables are never returned.',
  },
  {
    name: 'Event definitions',
    description:
      'The schemas of custom events: definitions and their properties. Needs the scope `behavioral_events.event_definitions.read_write`, and a subscription of level `professional` or higher in at least one product family.',
  },
  {
    name: 'Event occurrences',
    description:
      'Occurrences of custom events, which are validated by their definitions. Sending needs the scope `analytics.behavioral_events.send`, reading the scope `behavioral_events.event_definitions.read_write`.',
  },
  {
    name: 'Connected apps',
    description:
      'Clients such as Claude or ChatGPT to which the caller has given access to one address of the gateway. `docs/mcp.md` describes how they connect.',
  },
  {
    name: 'Organizations',
    description: 'Tenants. Objects of another organization are invisible: their ids answer 404, never 403.',
  },
  {
    name: 'Service accounts',
    description:
      'Accounts of an organization for programs, such as its CI. They have API keys and a role, are no members, and stay when the people who made them leave. Only administrators manage them.',
  },
  {
    name: 'Groups',
    description:
      'Groups of people and service accounts of an organization, which can follow those of the identity provider. Only administrators manage them.',
  },
  {
    name: 'API keys',
    description: 'API keys of users and service accounts. The key itself is shown only once, when it is created.',
  },
  { name: 'Users', description: 'The account of the caller.' },
  {
    name: 'Social publishing (deprecated)',
    description:
      'The deprecated social publishing API, which keeps working for existing clients. Needs the scope `social`. The gateway stores broadcasts and does not publish them.',
  },
];

export const INTRODUCTION = `Paths under \`/v1\` are for sessions of coding agents and their events, MCP connections, API keys, organizations and users. Paths under \`/events\` are for event definitions and occurrences. All operations except social publishing are also available in the GraphQL API at \`/graphql\`.

## API keys

Send an API key with every request: \`Authorization: Bearer wgk_…\`. A key in the query is not accepted. Create the first key with the command line (\`npm run --silent cli -- keys create --email you@example.com\`), and further keys with \`POST /v1/api-keys\`. A missing, malformed, unknown, expired or revoked key is 401.

A key has scopes. The description of each operation names the scope that it needs; without it the answer is 403. A key cannot create a key with more rights than its own.

## Organizations

A request acts in one organization. A bound key always acts in its organization. An unbound key acts in the organization that the header \`X-Organization-Id\` names by id or slug; without the header, in the user's only organization. An operation that needs an organization and has none answers 400.

People join by invitation. An administrator invites an e-mail address (GraphQL \`inviteOrganizationMember\`) and passes on the token, which is valid once within 7 days. \`POST /v1/invitations/preview\` tells whoever has the token what it is for. A person without an account accepts with \`POST /v1/invitations/accept\` and gets their first key. These two operations need no API key. A person with an account accepts with their key (GraphQL \`acceptOrganizationInvitation\`).

## Ids

Find ids for the other paths with \`GET /v1/sessions\`, \`GET /v1/mcp-connections\` and \`GET /v1/api-keys\`. You can send back what you have read, without the fields marked \`readOnly\`, which no request accepts. In a PATCH a missing field does not change, and \`null\` clears a nullable field.

## Errors

Except under \`/events\`, an error is \`{"error": "…"}\`. The message names the path of each faulty field and the rule, such as \`headers.X-Team: must be at most 16384 characters\`. Several faults are separated by \`; \`.

Under \`/events\`, an error has a \`category\`, the request id as \`correlationId\`, and \`errors\` with the message, code and path (\`in\`) of each fault.

Checks run in this order: 401; 404 or 405 for the address; 403 for scope, subscription and role; 413, 415 and 400 for the input; 404 or 403 for the object; 409. Objects of somebody else answer 404, like objects that do not exist. Unknown properties are 400 in every body and query; only under \`/events/\`, unknown query parameters are ignored.

Every answer has an \`X-Request-Id\`, which identifies the request in the log.

## Pages

Lists under \`/v1\` answer \`{"items": [], "nextCursor": null}\`. Send \`nextCursor\` as \`cursor\` to get the next page; it is null on the last page. \`limit\` is 1 to 100, 50 when absent. A page of any list ends early when its items reach ${inMib(pageBytesOf(MAX_ANSWER_BYTES))}; it has at least one item. Cursors stay valid when objects are added or deleted.

For session events \`nextCursor\` is always a string, so that you can poll with it. To stop at the current end, follow the \`Link\` header with \`rel="next"\`, which is present only while more events follow. \`limit\` is 1 to 1000, 50 when absent.

Lists under \`/events\` answer \`results\` and, while more follow, \`paging.next\` with a cursor (\`after\`) and an absolute URL (\`link\`).

## Live tail

\`GET /v1/sessions/{sessionId}/events\` with \`Accept: text/event-stream\` answers server-sent events: the events after \`cursor\` (or \`Last-Event-ID\`), then each new one as it is recorded. \`id:\` is the event's id, which is also the cursor; \`data:\` is the event. A comment is sent every 8 seconds. \`event: end\` means that the session is finished, and \`event: error\` with \`{"error": "…"}\` that the stream ends early.

## Idempotency

Send an \`Idempotency-Key\` of at most 255 characters with a write to make a retry safe. For 24 hours the same key with the same input gets the stored answer of the first request, with \`Idempotent-Replayed: true\`. An answer over 256 KiB is not stored: its replay is \`{"id": …}\` with the same status. The same key with other input is 409. Errors are not stored. The key belongs to your user and organization. \`POST /v1/invitations/accept\` needs none: if its answer is lost, send the request again.

## Limits

The rate limit is 100 requests per minute for each key, and five times as many for all keys of a user together, unless the operator has set another limit: see \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`. Above the limit the answer is 429 with \`Retry-After\`. For each client address the limits are 60 requests per minute without a valid key, and 60 for each operation that needs no key. Retry 429 and 503 after the time in \`Retry-After\`, and 500 and 502 with an idempotency key. A request body has at most ${inMib(MAX_BODY_BYTES)}, an answer at most ${inMib(MAX_ANSWER_BYTES)}. A write whose answer would be larger is answered with its status, and its largest members are null.
`;
