import {
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { type Access, describeAccess } from '../access.ts';
import { type Message, inGraphQL, sentences } from '../text/wording.ts';

/** How a field can be refused in addition to its access. */
export interface Refusal {
  /** Whether it is a field of an organization that is answered only for the acting organization. */
  readonly actingOrganization: boolean;
}

/**
 * Marks a field that can be refused individually: by scope, role, subscription or acting organization. This is checked before its arguments
 * are validated. The field becomes nullable, so that the other fields are answered, and its description states the requirements.
 */
export const refusable = (
  access: Access,
  { actingOrganization = false }: Partial<Refusal> = {},
): { readonly access: Access; readonly refusable: Refusal } => ({
  access: actingOrganization ? { ...access, inOrganization: true } : access,
  refusable: { actingOrganization },
});

/** Marks the payload type of a mutation. Its objects become nullable, so that a committed write is visible even if a nested field fails. */
export const PAYLOAD = { payload: true };

/** Marks a nullable field that is null only with an error. Refusable fields and objects of payloads get it if they are declared non-null. */
export const SEMANTIC_NON_NULL = { semanticNonNull: true };

export function isSemanticallyNonNull(field: { readonly extensions?: object } | undefined): boolean {
  const marked: { readonly semanticNonNull?: boolean } | undefined = field?.extensions;
  return marked?.semanticNonNull === true;
}

/** A description that continues with the requirements, and further sentences. */
export const withAccess = (description: Message, access: Access, ...further: readonly Message[]): string =>
  inGraphQL(sentences(description, describeAccess(access), ...further));

/**
 * Makes marked fields nullable and adds their requirements to their descriptions. Applied to the final schema, so that
 * no mark can be ignored.
 */
export function withRefusableFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    for (const field of Object.values(type.getFields())) {
      const refusal = refusalOf(field);
      const access = accessOf(field);
      if (refusal && access)
        field.description = withAccess(
          field.description ?? '',
          access,
          refusal.actingOrganization ? 'Answered only for the acting organization.' : '',
          'Null with an error otherwise.',
        );
      const isObject = isCompositeType(getNamedType(field.type));
      const isPayloadObject = type.extensions['payload'] === true && isObject;
      if (isPayloadObject && !/null/i.test(field.description ?? ''))
        field.description = `${field.description} Null with an error when it cannot be read after the change.`;
      if ((refusal || isPayloadObject) && isNonNullType(field.type)) {
        field.type = getNullableType(field.type);
        field.extensions = { ...field.extensions, ...SEMANTIC_NON_NULL };
      }
    }
  }
  return schema;
}

/** How a field can be refused individually; undefined for others. */
export function refusalOf({ extensions }: { readonly extensions?: object | null }): Refusal | undefined {
  const marked: { readonly refusable?: Refusal } | null | undefined = extensions;
  return marked?.refusable;
}

/** The access of a field or mutation, if it has one. */
export function accessOf({ extensions }: { readonly extensions?: object | null }): Access | undefined {
  const declared: { readonly access?: Access } | null | undefined = extensions;
  return declared?.access;
}
