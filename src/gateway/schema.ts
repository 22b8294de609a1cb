import { builder } from '../core/builder.ts';
import '../core/scalars.ts';
import '../core/graphql-errors.ts';
import '../core/node.ts';
import '../domains/organizations/graphql.ts';
import '../domains/users/graphql.ts';
import '../domains/user-deletions/graphql.ts';
import '../domains/api-keys/graphql.ts';
import '../domains/mcp-connections/graphql.ts';
import '../domains/event-definitions/graphql.ts';
import '../domains/event-occurrences/graphql.ts';
import '../domains/sessions/graphql.ts';
import '../domains/sessions/recording-graphql.ts';
import '../domains/session-events/graphql.ts';
import '../domains/audit-log/graphql.ts';
import './viewer.ts';
import './lifecycle-graphql.ts';

/** The GraphQL schema: every noun's types, assembled once. */
export const schema = builder.toSchema();
