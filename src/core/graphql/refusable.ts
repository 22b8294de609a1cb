import { type GraphQLSchema, getNamedType, getNullableType, isCompositeType, isObjectType } from 'graphql';
import type { Scope } from '../operation.ts';

/** What a caller must have for a field or a mutation, beside what the objects around it need. */
export interface Requirements {
  readonly scope?: Scope;
  readonly role?: 'admin';
  /** Whether the organization needs a subscription that includes custom events. */
  readonly subscription?: true;
  /** Whether it is answered only of the organization that the request acts in. */
  readonly actingOrganization?: true;
}

/**
 * Marks a field that can be refused by itself: by scope, role, subscription or acting organization. It is nullable, so that its siblings are
 * answered beside the error at its path, and its description says what it needs.
 */
export function refusable(requirements: Requirements): { readonly refusable: Requirements } {
  return { refusable: requirements };
}

/** Marks the payload type of a mutation, whose objects are nullable: a committed write is visible whatever fails below it. */
export const PAYLOAD = { payload: true };

/** What is needed, in sentences for a description. */
export function describeRequirements({ scope, role, subscription, actingOrganization }: Requirements): string {
  return [
    scope && `Needs the scope \`${scope}\`.`,
    role && 'Needs the role `ADMIN`.',
    subscription && 'Needs a subscription of level `professional` or higher in at least one product family.',
    actingOrganization && 'Answered only of the organization that the request acts in.',
  ]
    .filter(Boolean)
    .join(' ');
}

/**
 * Makes the fields that are marked nullable, and has their descriptions say what they need. On the schema as it is built, so that a mark on a
 * field cannot be without its effect.
 */
export function withRefusableFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      const requirements = requirementsOf(field);
      if (requirements)
        field.description = `${field.description} ${describeRequirements(requirements)} Null with an error otherwise.`;
      const isObject = isCompositeType(getNamedType(field.type));
      if (requirements || (type.extensions['payload'] === true && isObject)) field.type = getNullableType(field.type);
    }
  }
  return schema;
}

/** What a field is refused without; undefined for one that is not refused by itself. */
export function requirementsOf({ extensions }: { readonly extensions: object }): Requirements | undefined {
  return 'refusable' in extensions ? (extensions.refusable as Requirements) : undefined;
}
