import { builder } from '../core/graphql/builder.ts';
import { withPublishedDirectives } from '../core/graphql/published-directives.ts';
import { withRefusableFields } from '../core/graphql/refusable.ts';
import '../core/graphql/scalars.ts';
import '../core/graphql/errors.ts';
import '../core/graphql/nodes.ts';
import { addOrganizationToPayloads } from './graphql/payload-organization.ts';
import { modules } from './modules.ts';

await Promise.all(modules.map((module) => module.graphql()));
addOrganizationToPayloads();

/** The GraphQL schema with the types of all domain modules. */
export const schema = withPublishedDirectives(withRefusableFields(builder.toSchema()));
