import { builder } from '../core/graphql/builder.ts';
import { withPublishedDirectives } from '../core/graphql/published-directives.ts';
import { withRefusableFields } from '../core/graphql/refusable.ts';
import '../core/graphql/scalars.ts';
import '../core/graphql/errors.ts';
import '../core/graphql/nodes.ts';
import '../domains/organizations/graphql/operations.ts';
import '../domains/memberships/graphql.ts';
import '../domains/invitations/graphql.ts';
import '../domains/users/graphql.ts';
import '../domains/user-deletions/graphql.ts';
import '../domains/organization-deletions/graphql.ts';
import '../domains/api-keys/graphql.ts';
import '../domains/mcp-connections/graphql/operations.ts';
import '../domains/mcp-connections/graphql/read-operations.ts';
import '../domains/event-definitions/graphql/operations.ts';
import '../domains/event-occurrences/graphql/occurrences.ts';
import '../domains/sessions/graphql/operations.ts';
import '../domains/sessions/graphql/recording-operations.ts';
import '../domains/session-events/graphql/operations.ts';
import '../domains/audit-log/graphql.ts';
import './graphql/viewer.ts';
import '../domains/api-lifecycle/graphql.ts';

/** The GraphQL schema with the types of all domain modules. */
export const schema = withPublishedDirectives(withRefusableFields(builder.toSchema()));
