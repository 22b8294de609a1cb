import type { FeedType } from '../../core/feed.ts';

export const FEED_TYPE_TEXTS: Readonly<Record<FeedType, string>> = {
  'session.created': 'A session was created. `data` has its `state`.',
  'session.state_changed': 'A session has another state. `data` has `state` and `previousState`.',
  'session.pull_request_changed':
    'A pull request of a session was recorded or changed. `data` has `artifactId`, `pullRequestId` and `status`.',
  'session.deleted':
    'A session was deleted. `data` has the `reason`: `requested` by a person, or `retention`. Who could read the session sees it.',
  'mcp_connection.status_changed':
    'An MCP connection was created, or has another status. `data` has `status` and, unless it is new, `previousStatus`.',
  'mcp_connection.deleted': 'An MCP connection was deleted.',
  'mcp_connection.tools_changed':
    'An MCP server lists new tools, or says something else of some than was accepted. `data` has the number of these `tools`.',
  'tool_approval.requested':
    'A call of a tool waits for an approval. `data` has `state` and `mcpConnectionId`. Administrators, approvers and the caller see it.',
  'tool_approval.decided':
    'A call of a tool was approved or denied. `data` has `state` and `mcpConnectionId`. Administrators, approvers and the caller see it.',
  'event_definition.created': 'An event definition was created.',
  'event_definition.changed': 'An event definition or one of its properties was changed.',
  'event_definition.deleted': 'An event definition was deleted.',
  'event_occurrences.sent':
    'Occurrences of an event were sent. `data` has the `minute` and the `count`; add up several entries for the same minute.',
  'member.joined': 'Somebody became a member. `data` has the `role`.',
  'member.left': 'Somebody is no longer a member.',
  'deletion_job.finished':
    'The account of a former member was deleted. `data` has the `state`. Only administrators see it.',
  'webhook.failing':
    'A webhook will be disabled unless a delivery succeeds before the time `disableAfter` in `data`, a day later or more. Only administrators see it.',
  'webhook.disabled': 'A webhook was disabled. `data` has the `reason`. Only administrators see it.',
};
