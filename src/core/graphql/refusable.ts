import { type GraphQLSchema, getNamedType, getNullableType, isCompositeType, isObjectType } from 'graphql';
import type { Access } from '../operation.ts';

/** How a field can be refused beside by its access. */
export interface Refusal {
  /** Whether it is a field of an organization that is answered only of the one that the request acts in. */
  readonly actingOrganization: boolean;
}

/**
 * Marks a field that can be refused by itself: by scope, role, subscription or acting organization. It is checked before its arguments are
 * validated; it is nullable, so that its siblings are answered beside the error at its path; and its description says what it needs.
 */
export function refusable(
  access: Access,
  { actingOrganization = false }: Partial<Refusal> = {},
): { readonly access: Access; readonly refusable: Refusal } {
  return {
    access: actingOrganization ? { ...access, inOrganization: true } : access,
    refusable: { actingOrganization },
  };
}

/** Marks the payload type of a mutation, whose objects are nullable: a committed write is visible whatever fails below it. */
export const PAYLOAD = { payload: true };

/** What is needed, in sentences for a description. */
export function describeAccess(
  { scopes, anyScopeOf, role, subscription }: Access,
  { actingOrganization }: Partial<Refusal> = {},
): string {
  return [
    ...scopes.map((scope) => `Needs the scope \`${scope}\`.`),
    anyScopeOf && `Needs any scope of ${anyScopeOf.name}.`,
    role && 'Needs the role `ADMIN`.',
    subscription?.description,
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
      const refusal = refusalOf(field);
      const access = accessOf(field);
      if (refusal && access)
        field.description = `${field.description} ${describeAccess(access, refusal)} Null with an error otherwise.`;
      const isObject = isCompositeType(getNamedType(field.type));
      if (refusal || (type.extensions['payload'] === true && isObject)) field.type = getNullableType(field.type);
    }
  }
  return schema;
}

/** How a field is refused by itself; undefined for one that is not. */
export function refusalOf({ extensions }: { readonly extensions?: object | null }): Refusal | undefined {
  const marked: { readonly refusable?: Refusal } | null | undefined = extensions;
  return marked?.refusable;
}

/** What a field or mutation needs of the caller, where it says so. */
export function accessOf({ extensions }: { readonly extensions?: object | null }): Access | undefined {
  const declared: { readonly access?: Access } | null | undefined = extensions;
  return declared?.access;
}
