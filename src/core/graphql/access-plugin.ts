import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { requireAccess } from '../access.ts';
import type { OperationContext } from '../operation.ts';
import { accessOf, refusalOf } from './refusable.ts';

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      access: AccessPlugin<Types>;
    }
  }
}

/**
 * Checks the access of fields and mutations before their arguments are validated, so that a caller without access is
 * not asked to correct the input first. It runs inside the errors plugin, which turns the refusal into a member of the
 * result union.
 */
class AccessPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  // Validation is an argument mapper; wrappers of the mappers run before it.
  override wrapArgMappers(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    const access = accessOf(config);
    if (!access || !resolver) return resolver;
    const isOfActing = refusalOf(config)?.actingOrganization === true;
    return (parent, args, context, info) => {
      // The types of plugins do not know these: the context is an OperationContext, and the parent of such a field an organization.
      const { actor, onRefusal } = context as OperationContext;
      try {
        requireAccess(actor, access, isOfActing ? (parent as { readonly id: string }).id : undefined);
      } catch (error) {
        onRefusal(error, info.fieldName);
        throw error;
      }
      return resolver(parent, args, context, info);
    };
  }
}

SchemaBuilder.registerPlugin('access', AccessPlugin);
