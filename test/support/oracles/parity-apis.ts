import { type Outcome as ApiOutcome, apisOf } from '../fixtures/event-definitions.ts';
import type { TestGateway } from '../fixtures/gateway.ts';
import type { Actor, Command } from './parity-model.ts';
import { CODE_OF, STATUS_OF, type ErrorKind } from '../../../src/core/errors.ts';

/** The answer of an API, in a form that is the same for both APIs. */
export type Outcome = { readonly value: unknown } | { readonly status: number; readonly message: string };

/** The gateway that receives the commands through one API, and the objects to which they refer. */
export interface CommandTarget {
  readonly api: 'REST' | 'GraphQL';
  readonly gateway: TestGateway;
  readonly callers: Readonly<Record<Actor, { key: string; userId: string }>>;
  readonly keyIds: readonly string[];
  readonly sessionIds: readonly string[];
  readonly connectionIds: string[];
}

const NOBODY = '00000000-0000-4000-8000-000000000000';
/** The fields that both APIs return. REST does not return the MCP servers of a session. */
const SESSION_FIELDS = 'title agent level mode visibility';

/** Sends a command through the API of the target. */
export async function send(target: CommandTarget, command: Command): Promise<Outcome> {
  const [rest, graphql] = apisOf(target.gateway, target.callers.admin.key);
  const api = target.api === 'REST' ? rest : graphql;
  switch (command.run) {
    case 'create':
      return outcomeOf(await api.create(command.input));
    case 'update':
      return outcomeOf(await api.update(command.name, command.changes));
    case 'delete':
      return outcomeOf(await api.delete(command.name));
    case 'addProperty':
      return outcomeOf(await api.addProperty(command.name, command.input));
    case 'updateProperty':
      return outcomeOf(await api.updateProperty(command.name, command.property, command.changes));
    case 'deleteProperty':
      return outcomeOf(await api.deleteProperty(command.name, command.property));
    case 'createOrganization':
    case 'createConnection':
    case 'authorizeConnection':
    case 'updateSession':
    case 'listEvents':
    case 'revokeKey':
    case 'deleteUser':
    default:
      return target.api === 'REST' ? sendRest(target, command) : sendGraphQL(target, command);
  }
}

type OtherCommand = Extract<
  Command,
  {
    run:
      | 'createOrganization'
      | 'createConnection'
      | 'authorizeConnection'
      | 'updateSession'
      | 'listEvents'
      | 'revokeKey'
      | 'deleteUser';
  }
>;

function outcomeOf(outcome: ApiOutcome<unknown>): Outcome {
  if ('value' in outcome) return outcome;
  return { status: outcome.refused.status, message: outcome.refused.message };
}

type Item = Readonly<Record<string, unknown>>;

async function sendRest(target: CommandTarget, command: OtherCommand): Promise<Outcome> {
  const { gateway, callers } = target;
  async function call(
    actor: Actor,
    method: string,
    path: string,
    toValue: (body: Item) => unknown,
    body?: object,
  ): Promise<Outcome> {
    const answer = await gateway.rest<Item & { error: string }>(method, path, { key: callers[actor].key, body });
    return answer.status < 400
      ? { value: toValue(answer.body) }
      : { status: answer.status, message: answer.body.error };
  }
  switch (command.run) {
    case 'createOrganization':
      return call(
        'admin',
        'POST',
        '/v1/organizations',
        ({ name, slug, logoUrl }) => ({ name, slug, logoUrl }),
        command.input,
      );
    case 'createConnection':
      return call(
        command.actor,
        'POST',
        '/v1/mcp-connections',
        ({ connection }) => created(target, connection as Item),
        { type: 'stdio', ...command.input },
      );
    case 'authorizeConnection':
      return call(
        command.actor,
        'POST',
        `/v1/mcp-connections/${target.connectionIds[command.connection] ?? NOBODY}/authorize`,
        () => null,
        {},
      );
    case 'updateSession':
      return call(
        command.actor,
        'PATCH',
        `/v1/sessions/${target.sessionIds[command.session]}`,
        (session) => sessionOf(session),
        command.changes,
      );
    case 'listEvents': {
      const { session, limit, cursor } = command;
      return call(
        command.actor,
        'GET',
        `/v1/sessions/${target.sessionIds[session]}/events?limit=${limit}&cursor=${cursor}`,
        ({ items }) => (items as Item[]).map((item) => eventOf(item, item['id'], item['eventData'])),
      );
    }
    case 'revokeKey':
      return call(command.actor, 'DELETE', `/v1/api-keys/${target.keyIds[command.key] ?? NOBODY}`, () => null);
    case 'deleteUser':
    default:
      return call(command.actor, 'DELETE', `/v1/users/${callers[command.user].userId}`, () => null, {});
  }
}

async function sendGraphQL(target: CommandTarget, command: OtherCommand): Promise<Outcome> {
  const { gateway, callers } = target;
  async function mutate(
    actor: Actor,
    name: string,
    input: object,
    selection: string,
    toValue: (payload: Item) => unknown,
  ): Promise<Outcome> {
    const type = name.charAt(0).toUpperCase() + name.slice(1);
    const query = `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { ${selection} } ... on Error { message code } } }`;
    const { data, errors } = await gateway.graphql<Record<string, Item>>(callers[actor].key, query, { input });
    const result = data?.[name];
    if (!result) throw new Error(JSON.stringify(errors));
    if (String(result['__typename']).endsWith('Payload')) return { value: toValue(result) };
    const kind = Object.entries(CODE_OF).find(([, code]) => code === result['code'])?.[0] as ErrorKind;
    return { status: STATUS_OF[kind], message: asRestSays(String(result['message'])) };
  }
  switch (command.run) {
    case 'createOrganization':
      return mutate(
        'admin',
        'createOrganization',
        command.input,
        'organization { name slug logoUrl }',
        ({ organization }) => organization,
      );
    case 'createConnection': {
      const { env, visibility, ...rest } = command.input;
      const pairs = env && Object.entries(env).map(([name, value]) => ({ name, value }));
      const stdio = { ...rest, visibility: visibility.toUpperCase(), ...(pairs && { env: pairs }) };
      const fields = 'mcpServer { id: databaseId name type visibility command args envKeys }';
      return mutate(command.actor, 'createMcpServer', { stdio }, fields, ({ mcpServer }) =>
        created(target, mcpServer as Item),
      );
    }
    case 'authorizeConnection':
      return mutate(
        command.actor,
        'authorizeMcpServer',
        { mcpServerId: target.connectionIds[command.connection] ?? NOBODY },
        'authorizationUrl',
        () => null,
      );
    case 'updateSession': {
      const { mode, visibility, ...rest } = command.changes;
      const enums = {
        ...(mode && { mode: mode.toUpperCase() }),
        ...(visibility && { visibility: visibility.toUpperCase() }),
      };
      const input = { sessionId: target.sessionIds[command.session], ...rest, ...enums };
      return mutate(command.actor, 'updateSession', input, `session { ${SESSION_FIELDS} }`, ({ session }) =>
        sessionOf(session as Item),
      );
    }
    case 'listEvents': {
      const { session, limit, cursor } = command;
      const query = `query($id: ID!, $first: Int!, $after: String) { session(id: $id) { events(first: $first, after: $after) { nodes { databaseId eventType provider messageId eventDataJson } } } }`;
      const { data } = await gateway.graphql<{ session: { events: { nodes: Item[] } } | null }>(
        callers[command.actor].key,
        query,
        {
          id: target.sessionIds[session],
          first: limit,
          after: String(cursor),
        },
      );
      // A GraphQL query returns null where REST answers 404.
      if (!data?.session) return { status: 404, message: 'session not found' };
      return {
        value: data.session.events.nodes.map((node) => eventOf(node, node['databaseId'], node['eventDataJson'])),
      };
    }
    case 'revokeKey':
      return mutate(
        command.actor,
        'revokeApiKey',
        { apiKeyId: target.keyIds[command.key] ?? NOBODY },
        'deletedId',
        () => null,
      );
    case 'deleteUser':
    default:
      return mutate(
        command.actor,
        'deleteUser',
        { userId: callers[command.user].userId },
        'deletionJob { state }',
        () => null,
      );
  }
}

/** Stores the id of a new connection for later commands. */
function created(
  { connectionIds }: CommandTarget,
  { id, name, type, visibility, command, args, envKeys }: Item,
): object {
  connectionIds.push(String(id));
  return {
    name,
    type: String(type).toLowerCase(),
    visibility: String(visibility).toLowerCase(),
    command,
    args,
    envKeys,
  };
}

/** GraphQL messages contain the kind of server in the path of a field, because the input has one object for each kind. */
function asRestSays(message: string): string {
  return message.replaceAll(/\b(?:remote|stdio)\.(?=\w)/g, '');
}

function eventOf({ eventType, provider, messageId }: Item, id: unknown, data: unknown): object {
  return { id, eventType, provider, messageId, data };
}

function sessionOf({ title, agent, level, mode, visibility }: Item): object {
  return {
    title,
    agent,
    level,
    mode: String(mode).toLowerCase(),
    visibility: String(visibility).toLowerCase(),
  };
}

/** The whole state of the target as the administrator reads it through one of the APIs. */
export async function stateOf(
  { gateway, callers, sessionIds }: CommandTarget,
  by: CommandTarget['api'],
  names: readonly string[],
): Promise<object> {
  const [rest, graphql] = apisOf(gateway, callers.admin.key);
  const api = by === 'REST' ? rest : graphql;
  const definitions = [];
  for (const name of names) {
    const outcome = await api.read(name);
    definitions.push('value' in outcome ? outcome.value : outcome.refused.status);
  }
  const sessions = [];
  for (const id of sessionIds) {
    // An update without changes returns the current session.
    const outcome =
      by === 'REST'
        ? await gateway.rest<Item>('PATCH', `/v1/sessions/${id}`, { key: callers.admin.key, body: {} })
        : await gateway.graphql<{ session: Item }>(
            callers.admin.key,
            `query($id: ID!) { session(id: $id) { ${SESSION_FIELDS} } }`,
            { id },
          );
    sessions.push(sessionOf('body' in outcome ? outcome.body : (outcome.data?.session ?? {})));
  }
  return { definitions, sessions };
}
