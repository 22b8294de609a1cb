import { randomUUID } from 'node:crypto';
import { getNamedType, isLeafType, isObjectType } from 'graphql';
import { expect } from 'vitest';
import { type AnyRoute, isKeyless, isRaw } from '../../../src/core/http/route.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { type TestGateway, startTestGateway } from '../fixtures/gateway.ts';
import { send } from '../fixtures/second-gateway.ts';
import { type Peer, mcpHandler, startPeer } from '../peers/mcp-server.ts';
import { type MutationCase, type OperationCase, removes, restRequestOf } from './cases.ts';
import type { Answer } from './created-id.ts';
import { type Caller, type Recorded, recordObjects, setHold } from './recorded-organization.ts';

/** A gateway with an MCP server and one object of each kind, for writes of every kind. */
export interface WriteWorkspace {
  readonly gateway: TestGateway;
  readonly server: Peer;
  /** The objects that no write removes. */
  readonly kept: Recorded;
  /** The objects for this write: those that are kept, or for one that removes an object, those of another organization that still has it. */
  objectsFor(name: string, write: OperationCase): Promise<Recorded>;
  stop(): Promise<void>;
}

export async function startWriteWorkspace(): Promise<WriteWorkspace> {
  const gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true', USER_DELETION_DELAY: '3600' });
  const server = await startPeer(mcpHandler());
  const record = async () =>
    recordObjects(gateway, await gateway.createKey(), { serverUrl: `${server.origin}/mcp`, mark: 'kept' });
  const kept = await record();
  const spare: { readonly objects: Recorded; readonly removed: Set<string> }[] = [];
  return {
    gateway,
    server,
    kept,
    async objectsFor(name, { by, creates, target = creates }) {
      await setHold(gateway, kept, name === 'releaseSession');
      // It can be decided once.
      await gateway.dependencies.sql.query(
        `update tool_approval set state = 'PENDING' where organization_id = $1 and id = $2`,
        [kept.organizationId, kept.toolApprovalId],
      );
      if (!removes(name)) return kept;
      // The key of the references is that of the member, who leaves or is removed.
      const kind = by === 'member' || target === 'ApiKey' ? 'User' : (target ?? '');
      const found = spare.find(({ removed }) => !removed.has(kind) && !removed.has('Organization'));
      const { objects, removed } = found ?? { objects: await record(), removed: new Set<string>() };
      if (!found) spare.push({ objects, removed });
      removed.add(kind);
      return objects;
    },
    async stop() {
      await server.stop();
      await gateway.close();
    },
  };
}

export const callerOf = ({ by = 'admin' }: OperationCase, to: Recorded): Caller => to.callers[by];
export const payloadOf = (mutation: string) => `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Payload`;

/** Runs a mutation; fails the test if it is refused. */
export async function mutate(
  gateway: TestGateway,
  [name, write]: readonly [string, MutationCase],
  to: Recorded,
  requestId: string = randomUUID(),
): Promise<Answer> {
  const payload = schema.getType(payloadOf(name));
  const fields = isObjectType(payload) ? Object.values(payload.getFields()) : [];
  const selection = fields.map(({ name: field, type }) => {
    const { name: ofType } = getNamedType(type);
    return isLeafType(getNamedType(type)) ? field : ofType === write.creates ? `${field} { databaseId }` : '';
  });
  const { data, errors } = await gateway.graphql<Record<string, Answer>>(
    callerOf(write, to).key,
    `mutation($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) {
      ${name}(input: $input) { __typename ... on ${payloadOf(name)} { ${selection.join(' ')} } ... on Error { message path } } }`,
    { input: write.input(to) },
    { 'X-Request-Id': requestId },
  );
  const result = data?.[name] ?? {};
  expect([result['__typename'], result['message'], errors]).toEqual([payloadOf(name), undefined, undefined]);
  return result;
}

/** Sends the request of a route; fails the test if it is refused. */
export async function request(
  gateway: TestGateway,
  [write, route]: readonly [OperationCase, AnyRoute],
  to: Recorded,
  requestId: string = randomUUID(),
): Promise<Answer> {
  const { path, body } = restRequestOf(route, to);
  const {
    status,
    text,
    body: answer,
  } = await send(gateway, route.method, path, {
    ...(!isKeyless(route) && { key: callerOf(write, to).key }),
    headers: {
      'X-Request-Id': requestId,
      'Content-Type': 'application/json',
      ...(isRaw(route) && { Accept: 'application/json, text/event-stream' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect([status < 300, text]).toEqual([true, text]);
  // A JSON document, or nothing.
  return (answer ?? {}) as Answer;
}
