import { READ_SESSIONS } from '../policy.ts';
import { followSessions } from '../subscription.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType } from '../../../core/graphql/connections.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/input/expected-version.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { type InputFields, mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, keyFromId, uuidsOf } from '../../../core/graphql/global-ids.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { describeAccess, refusable } from '../../../core/graphql/refusable.ts';
import { selectedColumns } from '../../../core/graphql/selection.ts';
import { organizationList } from '../../organizations/graphql/organization-list.ts';
import { SandboxSizeEnum, SessionModeEnum, SessionStateEnum, SessionTypeEnum, SessionVisibilityEnum } from './enums.ts';
import { SessionType } from './types.ts';
import { pinSessionInput, sessionFilter, updateSessionInput } from '../input.ts';
import { listSessions, pinSession, readSessions, updateSession } from '../operations.ts';
import type { SessionOrderField, SessionRow } from '../queries.ts';

const SESSION_ORDER = orderType<SessionOrderField>('Session', {
  of: 'sessions',
  fields: {
    CREATED_AT: 'Time of creation.',
    UPDATED_AT: 'Time of the last change.',
    LAST_SEEN_AT: 'When the runner last recorded something.',
  },
  otherwise: { field: 'CREATED_AT', direction: 'DESC' },
});

const FilterInput = builder.inputType('SessionFilter', {
  description:
    'Conditions on sessions. A session is listed when it meets all of them. Each list has at most 100 items; an empty list matches nothing.',
  validate: acceptingIds(sessionFilter, { projectIds: 'Project', creatorIds: 'User' }),
  fields: (t) => ({
    states: t.field({ type: [SessionStateEnum], description: 'Sessions in any of these states, at most 100.' }),
    sessionTypes: t.field({ type: [SessionTypeEnum], description: 'Sessions of any of these types, at most 100.' }),
    modes: t.field({ type: [SessionModeEnum], description: 'Sessions in any of these modes, at most 100.' }),
    visibilities: t.field({
      type: [SessionVisibilityEnum],
      description: 'Sessions with any of these visibilities, at most 100.',
    }),
    projectIds: t.idList({
      description:
        'Sessions in any of these projects: at most 100 values of `id` or `databaseId` of a project, or the free text in `projectId`.',
    }),
    creatorIds: t.idList({
      description: 'Sessions created by any of these users: at most 100 values of `id` or `databaseId`.',
    }),
    agents: t.stringList({ description: 'Sessions of any of these agents, at most 100.' }),
    isPinned: t.boolean({ description: 'True lists only pinned sessions, false only sessions that are not pinned.' }),
    title: t.string({
      description:
        'Sessions whose title contains this text of at most 1000 characters. Case is ignored; there are no wildcards.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Sessions created at this time or later.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Sessions created before this time.' }),
  }),
});

const SessionConnection = connectionType(SessionType, { of: 'sessions' });

organizationList('sessions', {
  type: SessionType,
  connection: SessionConnection,
  description: 'Sessions of the organization that the caller can read, newest first by default.',
  access: listSessions.access,
  filter: { type: FilterInput, description: 'Conditions on the sessions. When absent, all sessions are included.' },
  order: SESSION_ORDER,
  list: (context, asked, columns) => listSessions(context, { ...asked, columns }),
});

builder.queryField('session', (t) =>
  t.field({
    type: SessionType,
    nullable: true,
    description: 'One session. Null when the caller can read no such session.',
    extensions: { ...OWN_STATEMENT, ...refusable(readSessions.access) },
    args: { id: t.arg.id({ required: true, description: '`id` or `databaseId` of the session.' }) },
    resolve: async (_, { id }, context, info) => {
      const [key] = uuidsOf([String(keyFromId('Session', id))]);
      if (key === undefined) return null;
      return (await readSessions(context, [key], selectedColumns<SessionRow>(info, 'Session')))[0] ?? null;
    },
  }),
);

builder.subscriptionField('sessionChanged', (t) =>
  t.field({
    type: SessionType,
    description: `Sends a session each time it is created or changed, if the caller can read it. Only sessions of the acting organization that meet the filter are sent. Several changes in quick succession can be sent as one. ${describeAccess(READ_SESSIONS)} Ends with an error when the caller loses the right to read sessions.`,
    args: {
      filter: t.arg({
        type: FilterInput,
        description: 'Conditions on the sessions. When absent, all sessions are included.',
      }),
    },
    subscribe: (_, { filter }, context, info) =>
      followSessions(context, filter ?? {}, selectedColumns(info, 'Session')),
    resolve: (row) => row,
  }),
);

const AgentGoalInput = builder.inputType('AgentGoalInput', {
  description: 'The goal of the agent.',
  fields: (t) => ({
    enabled: t.boolean({ description: 'Whether the agent works towards the goal.' }),
    objective: t.string({ description: 'The goal in words, at most 100,000 characters.' }),
  }),
});

export const AgentOptionsInput = builder.inputType('AgentOptionsInput', {
  description: 'Options of the agent.',
  fields: (t) => ({
    reasoningLevel: t.string({ description: 'How much the agent reasons; free text of 1 to 100 characters.' }),
    goal: t.field({ type: AgentGoalInput, description: 'The goal of the agent.' }),
  }),
});

/** Input fields that creating and updating a session share. */
export const configurationFields = (t: InputFields) => ({
  description: t.string({ description: 'The task as plain text, 1 to 1,000,000 characters.' }),
  richContent: t.field({
    type: 'JSON',
    description: 'The task as a rich-text document. Without `description`, the description becomes its plain text.',
  }),
  agent: t.string({ description: 'Name of the agent, 1 to 500 characters.' }),
  baseBranch: t.string({ description: 'The branch to start from, 1 to 500 characters.' }),
  branchName: t.string({ description: 'The branch to work on, 1 to 500 characters.' }),
  targetBranch: t.string({ description: 'The branch to merge the changes into, 1 to 500 characters.' }),
  projectId: t.string({ description: 'Id of a project, or free text; 1 to 500 characters.' }),
  sandboxSize: t.field({ type: SandboxSizeEnum, description: 'Size of the machine that the session runs on.' }),
  mcpServers: t.stringList({
    description:
      'At most 100 MCP connections that the caller can see, each by its id or by a name that only one of them has. They are stored as ids, without duplicates.',
  }),
});

mutation('updateSession', {
  access: updateSession.access,
  description:
    'Updates the configuration of a session. An absent field does not change; null clears a nullable field. Only the creator and administrators can change a session.',
  schema: updateSessionInput,
  ids: { sessionId: 'Session', mcpServers: 'McpServer' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: '`id` or `databaseId` of the session.' }),
    title: t.string({ description: 'Title of 1 to 1000 characters; must not be null.' }),
    ...configurationFields(t),
    agentOptions: t.field({
      type: AgentOptionsInput,
      description: 'Options of the agent. An absent option does not change.',
    }),
    level: t.int({ description: '0 to 100.' }),
    mode: t.field({ type: SessionModeEnum, description: 'How the agent works.' }),
    visibility: t.field({ type: SessionVisibilityEnum, description: 'Who can read the session.' }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input, info) => ({
    session: await updateSession(context, input, selectedColumns(info, 'Session', 'session')),
  }),
  payload: (t) => ({
    session: t.field({ type: SessionType, description: 'The changed session.', resolve: ({ session }) => session }),
  }),
});

mutation('pinSession', {
  access: pinSession.access,
  description:
    'Pins a session to the top of lists for all readers, or unpins it. Only the creator and administrators can change a session.',
  schema: pinSessionInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: '`id` or `databaseId` of the session.' }),
    isPinned: t.boolean({ defaultValue: true, description: 'True pins the session, false unpins it.' }),
    expectedUpdatedAt: t.field({ type: 'DateTime', description: EXPECTED_UPDATED_AT }),
  }),
  errors: [NotFoundError, ConflictError],
  run: async (context, input, info) => ({
    session: await pinSession(context, input, selectedColumns(info, 'Session', 'session')),
  }),
  payload: (t) => ({
    session: t.field({ type: SessionType, description: 'The changed session.', resolve: ({ session }) => session }),
  }),
});
