import type { Answers } from '../generated/operation-types.ts';

export type Webhook = NonNullable<Answers['Webhook']['webhook']>;
export type EntryType = NonNullable<Webhook['types']>[number];

export type State = NonNullable<NonNullable<Webhook['conditions']>['sessionStates']>[number];

/** Each of these values with its words. A value without words does not compile. */
function entriesOf<Value extends string>(words: Readonly<Record<Value, string>>) {
  // A constant table has no other keys than its type states.
  return Object.entries(words) as [Value, string][];
}

const TYPE_WORDS: Readonly<Record<EntryType, string>> = {
  SESSION_CREATED: 'A session was created',
  SESSION_STATE_CHANGED: 'A session has another state',
  SESSION_PULL_REQUEST_CHANGED: 'A pull request was recorded or changed',
  SESSION_DELETED: 'A session was deleted',
  MCP_CONNECTION_STATUS_CHANGED: 'An MCP connection has another status',
  MCP_CONNECTION_DELETED: 'An MCP connection was deleted',
  MCP_CONNECTION_TOOLS_CHANGED: 'An MCP server has changed its tools',
  TOOL_APPROVAL_REQUESTED: 'A call of a tool waits for an approval',
  TOOL_APPROVAL_DECIDED: 'A call of a tool was approved or denied',
  EVENT_DEFINITION_CREATED: 'An event definition was created',
  EVENT_DEFINITION_CHANGED: 'An event definition was changed',
  EVENT_DEFINITION_DELETED: 'An event definition was deleted',
  EVENT_OCCURRENCES_SENT: 'Occurrences of an event were sent',
  MEMBER_JOINED: 'Somebody became a member',
  MEMBER_LEFT: 'Somebody is no longer a member',
  DELETION_JOB_FINISHED: 'The account of a former member was deleted',
  WEBHOOK_FAILING: 'A webhook will be disabled',
  WEBHOOK_DISABLED: 'A webhook was disabled',
};
export const TYPES = entriesOf(TYPE_WORDS);

const STATE_WORDS: Readonly<Record<State, string>> = {
  QUEUED: 'Queued',
  IN_PROGRESS: 'In progress',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  CANCELLED: 'Cancelled',
};
export const STATES = entriesOf(STATE_WORDS);

/** What a webhook gets, in words. */
export function typesOf({ types, conditions }: Pick<Webhook, 'types' | 'conditions'>): string {
  const changes = types ? TYPES.flatMap(([type, text]) => (types.includes(type) ? [text] : [])) : ['All changes'];
  const states = STATES.flatMap(([state, text]) => (conditions?.sessionStates?.includes(state) ? [text] : []));
  const only = states.length === 0 ? '' : ` (of the states of sessions only: ${states.join(', ')})`;
  return `${changes.join(', ')}${only}`;
}
