import { buildSchema, GraphQLError } from 'graphql';

/** A schema with each shape that the limits tell apart: objects, lists, connections, unions, payloads. */
export const schema = buildSchema(`
  interface Node { id: ID! }
  type PageInfo { hasNextPage: Boolean! }
  type User implements Node { id: ID! name: String friend: User friends: [User!]! grid: [[User!]!]! sessions(first: Int, last: Int): SessionConnection! }
  type Event implements Node { id: ID! tags: [String!]! author: User }
  type EventEdge { cursor: String! node: Event! }
  type EventConnection { edges: [EventEdge!]! nodes: [Event!]! pageInfo: PageInfo! totalCount: Int! }
  type Session implements Node { id: ID! owner: User events(first: Int, last: Int): EventConnection! }
  type SessionEdge { cursor: String! node: Session! }
  type SessionConnection { edges: [SessionEdge!]! nodes: [Session!]! pageInfo: PageInfo! totalCount: Int! }
  union Result = User | Session
  type Payload { sessions(first: Int = 10): SessionConnection! }
  type Query { viewer: User result: Result node(id: ID!): Node nodes(ids: [ID!]!): [Node]! sessions(first: Int, last: Int): SessionConnection! }
  type Mutation { start: Payload! }
  type Subscription { events: Event! }
`);

export const repeat = (count: number, part: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => part(i)).join(' ');

/** What a caller would be told, whole; `undefined` where nothing is refused. */
export function refusal(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof GraphQLError) return error.toJSON();
    throw error;
  }
}
