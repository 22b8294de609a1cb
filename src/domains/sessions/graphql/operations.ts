import { READ_SESSIONS } from '../policy.ts';
import { followSessions } from '../subscription.ts';
import { OWN_STATEMENT, builder } from '../../../core/graphql/builder.ts';
import { connectionType, toConnection } from '../../../core/graphql/connections.ts';
import { EXPECTED_UPDATED_AT } from '../../../core/expected-version.ts';
import { ConflictError, NotFoundError } from '../../../core/errors.ts';
import { type InputFields, mutation } from '../../../core/graphql/mutations.ts';
import { acceptingIds, keyFromId, uuidsOf } from '../../../core/graphql/nodes.ts';
import { orderType } from '../../../core/graphql/orders.ts';
import { describeAccess, refusable } from '../../../core/graphql/refusable.ts';
import { readThrough } from '../../../core/graphql/read-through.ts';
import { needs, selectedColumns } from '../../../core/graphql/selection.ts';
import { OrganizationType } from '../../organizations/graphql/types.ts';
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
    'Which sessions to list. All given conditions must be met. Lists have at most 100 items; an empty one matches nothing.',
  validate: acceptingIds(sessionFilter, { projectIds: 'Project', creatorIds: 'User' }),
  fields: (t) => ({
    states: t.field({ type: [SessionStateEnum], description: 'In any of these states.' }),
    sessionTypes: t.field({ type: [SessionTypeEnum], description: 'Of any of these types.' }),
    modes: t.field({ type: [SessionModeEnum], description: 'In any of these modes.' }),
    visibilities: t.field({ type: [SessionVisibilityEnum], description: 'With any of these visibilities.' }),
    projectIds: t.idList({
      description: 'In any of these projects; either id of a project, or the free text of a session.',
    }),
    creatorIds: t.idList({ description: 'Created by any of these users; either id.' }),
    agents: t.stringList({ description: 'Run by any of these agents.' }),
    isPinned: t.boolean({ description: 'Only pinned sessions, or only the others.' }),
    title: t.string({
      description:
        'Only titles that contain this, at most 1000 characters; case is ignored, `%` and `_` are plain characters.',
    }),
    createdFrom: t.field({ type: 'DateTime', description: 'Created at this moment or after it.' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created before this moment.' }),
  }),
});

const SessionConnection = connectionType(SessionType, { of: 'sessions' });

builder.objectField(OrganizationType, 'sessions', (t) =>
  t.connection(
    {
      type: SessionType,
      description: 'Its sessions that the caller may read, newest first unless ordered otherwise.',
      args: {
        filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }),
        orderBy: t.arg(SESSION_ORDER.argument),
      },
      extensions: {
        ...refusable(listSessions.access, { actingOrganization: true }),
        ...needs<{ id: string }>('id'),
      },
      resolve: async ({ id }, { filter, orderBy, ...page }, context, info) => {
        const list = {
          organizationId: id,
          filter: filter ?? {},
          order: SESSION_ORDER.orderOf(orderBy),
          page,
          columns: selectedColumns<SessionRow>(info, 'Session'),
        };
        return toConnection(await listSessions(context, list));
      },
    },
    SessionConnection,
  ),
);

builder.queryField('session', (t) =>
  t.field({
    type: SessionType,
    nullable: true,
    description: 'One session; null when there is none that the caller may read.',
    extensions: { ...OWN_STATEMENT, ...refusable(readSessions.access) },
    args: { id: t.arg.id({ required: true, description: 'Either id of the session.' }) },
    resolve: async (_, { id }, context, info) => {
      const [key] = uuidsOf([String(keyFromId('Session', id))]);
      if (key === undefined) return null;
      const columns = selectedColumns<SessionRow>(info, 'Session');
      if (columns?.join() === 'id') {
        const session = await readThrough({ id: key } as SessionRow, context, info);
        if (session !== undefined) return session;
      }
      return (await readSessions(context, [key], columns))[0] ?? null;
    },
  }),
);

builder.subscriptionField('sessionChanged', (t) =>
  t.field({
    type: SessionType,
    description: `A session of the acting organization that the caller may read, each time one is created or changed, as it is then. One that no longer fits the filter is not sent. Several changes in quick succession may come as one. ${describeAccess(READ_SESSIONS)} Ends with an error when the caller may no longer read sessions.`,
    args: { filter: t.arg({ type: FilterInput, description: 'Which ones; all when absent.' }) },
    subscribe: (_, { filter }, context, info) =>
      followSessions(context, filter ?? {}, selectedColumns(info, 'Session')),
    resolve: (row) => row,
  }),
);

const AgentGoalInput = builder.inputType('AgentGoalInput', {
  description: 'What the agent is to reach.',
  fields: (t) => ({
    enabled: t.boolean({ description: 'Whether the agent works towards it.' }),
    objective: t.string({ description: 'At most 100,000 characters.' }),
  }),
});

export const AgentOptionsInput = builder.inputType('AgentOptionsInput', {
  description: 'How to set the agent.',
  fields: (t) => ({
    reasoningLevel: t.string({ description: '1 to 100 characters.' }),
    goal: t.field({ type: AgentGoalInput, description: 'What it is to reach.' }),
  }),
});

/** What a session takes at its creation and later alike. */
export const configurationFields = (t: InputFields) => ({
  description: t.string({ description: '1 to 1,000,000 characters.' }),
  richContent: t.field({
    type: 'JSON',
    description: 'A rich-text document; without `description` it sets the description to its plain text.',
  }),
  agent: t.string({ description: '1 to 500 characters.' }),
  baseBranch: t.string({ description: '1 to 500 characters.' }),
  branchName: t.string({ description: '1 to 500 characters.' }),
  targetBranch: t.string({ description: '1 to 500 characters.' }),
  projectId: t.string({ description: '1 to 500 characters.' }),
  sandboxSize: t.field({ type: SandboxSizeEnum, description: 'How large a machine it runs on.' }),
  mcpServers: t.stringList({
    description:
      'MCP connections that the caller can see, at most 100: each by its id, or by a name that only one of them has. Stored as ids, each once.',
  }),
});

mutation('updateSession', {
  access: updateSession.access,
  description: 'Updates the configuration of a session. What is absent stays as it is; null clears what may be null.',
  schema: updateSessionInput,
  ids: { sessionId: 'Session', mcpServers: 'McpServer' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: 'Either id of the session.' }),
    title: t.string({ description: '1 to 1000 characters; never null.' }),
    ...configurationFields(t),
    agentOptions: t.field({
      type: AgentOptionsInput,
      description: 'How to set the agent; what is absent in it stays as it is.',
    }),
    level: t.int({ description: '0 to 100.' }),
    mode: t.field({ type: SessionModeEnum, description: 'How the agent works.' }),
    visibility: t.field({ type: SessionVisibilityEnum, description: 'Who reads it.' }),
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
  description: 'Pins a session to the top for everybody who reads it, or unpins it.',
  schema: pinSessionInput,
  ids: { sessionId: 'Session' },
  input: (t) => ({
    sessionId: t.id({ required: true, description: 'Either id of the session.' }),
    isPinned: t.boolean({ defaultValue: true, description: 'Whether to pin it; `false` unpins it.' }),
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
