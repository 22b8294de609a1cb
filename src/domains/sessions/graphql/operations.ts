import type { GraphQLResolveInfo } from 'graphql';
import { READ_SESSIONS } from '../policy.ts';
import { type SessionChange, followSessions } from '../subscription.ts';
import { builder } from '../../../core/graphql/builder.ts';
import { exposed } from '../../../core/graphql/fields.ts';
import { filterType, inputType, usingSearch } from '../../../core/graphql/derived-inputs.ts';
import { mutation, one } from '../../../core/graphql/mutations.ts';
import { toGlobalId } from '../../../core/graphql/global-ids.ts';
import { listBelow, listType } from '../../../core/graphql/lists.ts';
import { type FieldsOf, nodeQuery } from '../../../core/graphql/nodes.ts';
import { refusable, withAccess } from '../../../core/graphql/refusable.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import type { NamedRow } from '../../../core/postgres/reading/names.ts';
import { ServiceAccountType } from '../../organizations/graphql/actors.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { UserType } from '../../users/graphql.ts';
import { SessionType } from './types.ts';
import { agentFilter, agentGoal, agentOptions, projectFilter, sessionFilter } from '../input.ts';
import { ProjectType } from './source-types.ts';
import {
  listProjects,
  listSessionAgents,
  listSessions,
  pinSession,
  readSessions,
  updateSession,
} from '../operations.ts';
import { SESSIONS_OF_CREATOR, SESSIONS_OF_PROJECT, type SessionRow } from '../queries.ts';
import { deleteSession, holdSession, markSessionHandled, releaseSession } from '../deletion-and-hold.ts';

export const SessionFilterInput = filterType('SessionFilter', sessionFilter, {
  ids: { projectIds: 'Project', creatorIds: 'Actor', creatorGroupIds: 'Group' },
  types: { projectIds: 'ID' },
  ...usingSearch('title'),
});
const FILTER_ARGUMENT = {
  type: SessionFilterInput,
  description: 'Conditions on the sessions. When absent, all sessions are included.',
};

const LAST = 'Sessions that have not reported it are last in both directions.';

const SESSION_LIST = listType(SessionType, {
  of: 'sessions',
  filter: FILTER_ARGUMENT.type,
  conditions: FILTER_ARGUMENT.description,
  fields: {
    CREATED_AT: 'Time of creation.',
    UPDATED_AT: 'Time of the last change.',
    LAST_SEEN_AT: 'When the runner last recorded something.',
    COST: `Cost in US dollars. ${LAST}`,
    INPUT_TOKENS: `Tokens of input. ${LAST}`,
    OUTPUT_TOKENS: `Tokens of output. ${LAST}`,
    TOKENS: `Tokens of input and output. ${LAST}`,
    DURATION: `Time that the agent has worked. ${LAST}`,
    TOOL_ERRORS: `Calls of tools that have failed. ${LAST}`,
  },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});
organizationList('sessions', SESSION_LIST, listSessions);

const sessionsBelow = <Parent extends { readonly id: string }>(
  t: FieldsOf<Parent>,
  whose: string,
  rows: typeof SESSIONS_OF_PROJECT,
) =>
  listBelow(t, SESSION_LIST, {
    description: `Sessions ${whose} that the caller can read, latest first by default.`,
    extensions: refusable(READ_SESSIONS),
    rows,
  });
builder.objectField(ProjectType, 'sessions', (t) => sessionsBelow(t, 'of the project', SESSIONS_OF_PROJECT));
builder.objectField(UserType, 'sessions', (t) => sessionsBelow(t, 'that the person has created', SESSIONS_OF_CREATOR));
builder.objectField(ServiceAccountType, 'sessions', (t) =>
  sessionsBelow(t, 'that the service account has created', SESSIONS_OF_CREATOR),
);

const PROJECT_LIST = listType(ProjectType, {
  of: 'projects',
  filter: filterType('ProjectFilter', projectFilter, usingSearch('name')),
  conditions: 'Conditions on the projects. When absent, all projects are included.',
  fields: {
    NAME: 'Name of the project.',
    CREATED_AT: 'Time of creation.',
    UPDATED_AT: 'Time of the last session that described it.',
  },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('projects', PROJECT_LIST, listProjects);

const AgentType = builder.objectRef<NamedRow>('SessionAgent').implement({
  description: 'An agent that sessions name. It has no other properties, because agents are free text.',
  fields: (t) => exposed(t, { name: ['String', 'Name of the agent, as `Session.agent`.'] }),
});
const AGENT_LIST = listType(AgentType, {
  of: 'agents',
  filter: filterType('SessionAgentFilter', agentFilter, usingSearch('name')),
  conditions: 'Conditions on the agents. When absent, all agents are included.',
  fields: { NAME: 'Name of the agent.' },
  otherwise: { field: 'NAME', direction: 'ASC' },
});
organizationList('agents', AGENT_LIST, listSessionAgents);

nodeQuery('session', SessionType, {
  description: 'One session. Null when the caller can read no such session.',
  of: 'session',
  access: readSessions.access,
  read: readSessions,
});

/** The members of the union have one type for this name, so that a document can select it of both. */
const changedSessionField = (t: FieldsOf<SessionChange>) =>
  t.field({
    type: SessionType,
    nullable: true,
    description: 'The session as it is now. Null if it was deleted or can no longer be read.',
    resolve: ({ session, isReadable }) => (isReadable ? session : null),
  });

const ChangedType = builder.objectRef<SessionChange>('SessionChanged').implement({
  description: 'A session that was created or changed, and meets the filter.',
  fields: (t) => ({
    changedSession: changedSessionField(t),
    session: t.field({
      type: SessionType,
      description: 'The session as it is now.',
      resolve: ({ session }) => session,
    }),
  }),
});

const LeftType = builder.objectRef<SessionChange>('SessionLeft').implement({
  description: 'A session that no longer meets the filter, was deleted, or can no longer be read by the caller.',
  fields: (t) => ({
    sessionId: t.id({
      description: 'Global id of the session.',
      resolve: ({ session }) => toGlobalId('Session', session.id),
    }),
    session: changedSessionField(t),
    changedSession: changedSessionField(t),
  }),
});

const ChangeType = builder.unionType('SessionChange', {
  description: 'An event of the subscription `sessionChange`.',
  types: [ChangedType, LeftType],
  resolveType: ({ hasLeft }) => (hasLeft ? LeftType : ChangedType),
});

const SENT =
  'each time it is created or changed, or an artifact or pull request of it is recorded, if the caller can read it. Only sessions of the acting organization that meet the filter are sent. One that was sent, or is among the 500 that changed last when the subscription begins, is sent once more';
const ENDS = 'Ends with an error when the caller loses the right to read sessions.';

/** What is selected of the session by either name; all if both are. */
function selectedOfChange(info: GraphQLResolveInfo) {
  const [older, newer] = ['session', 'changedSession'].map((name) =>
    selectedColumns<SessionRow>(info, 'Session', name),
  );
  return older && newer && [...new Set([...older, ...newer])];
}

builder.subscriptionField('sessionChange', (t) =>
  t.field({
    type: ChangeType,
    extensions: { access: READ_SESSIONS },
    description: withAccess(
      `Sends a session ${SENT}, as \`SessionLeft\`, when it no longer meets the filter or can no longer be read. Several changes in quick succession can be sent as one.`,
      READ_SESSIONS,
      ENDS,
    ),
    args: { filter: t.arg(FILTER_ARGUMENT) },
    subscribe: (_, { filter }, context, info) => followSessions(context, filter ?? {}, selectedOfChange(info)),
    resolve: (change) => change,
  }),
);

builder.subscriptionField('sessionChanged', (t) =>
  t.field({
    type: SessionType,
    extensions: { access: READ_SESSIONS },
    description: withAccess(
      `Sends a session ${SENT} when it no longer meets the filter; one that can no longer be read as the caller could read it last, without its content.`,
      READ_SESSIONS,
      ENDS,
    ),
    deprecationReason: 'Use `sessionChange`, which says which sessions have left. Removed on 2027-06-01.',
    args: { filter: t.arg(FILTER_ARGUMENT) },
    subscribe: (_, { filter }, context, info) =>
      followSessions(context, filter ?? {}, selectedColumns(info, 'Session')),
    resolve: ({ session }) => session,
  }),
);

inputType('AgentGoalInput', agentGoal);
export const AgentOptionsInput = inputType('AgentOptionsInput', agentOptions);

const changedSession = one<SessionRow>('session', SessionType, 'The changed session.');

mutation(updateSession, {
  ids: { sessionId: 'Session', mcpServers: 'McpServer' },
  types: { richContent: 'JSON' },
  run: (context, input, info) => updateSession(context, input, selectedColumns(info, 'Session', 'session')),
  payload: changedSession,
});

mutation(pinSession, {
  ids: { sessionId: 'Session' },
  run: (context, input, info) => pinSession(context, input, selectedColumns(info, 'Session', 'session')),
  payload: changedSession,
});

mutation(deleteSession, {
  ids: { sessionId: 'Session' },
  payload: (t) => ({
    deletedSessionId: t.id({
      description: 'Global id of the deleted session.',
      resolve: ({ sessionId }) => toGlobalId('Session', sessionId),
    }),
  }),
});

mutation(holdSession, { ids: { sessionId: 'Session' }, payload: changedSession });
mutation(markSessionHandled, { ids: { sessionId: 'Session' }, payload: changedSession });
mutation(releaseSession, { ids: { sessionId: 'Session' }, payload: changedSession });
