import type { FieldMap, InputRef, ObjectFieldBuilder, ObjectRef } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import type { z } from 'zod';
import { AT_MOST_ONCE, CALLS_OUT, type GraphQLContext, type SchemaTypes, builder, capitalize } from './builder.ts';
import { type ErrorClass, type Fault, ForbiddenError, ValidationError, relocated } from '../errors.ts';
import { parseInput } from '../input/validation.ts';
import { type InputDifferences, mutationInput } from './derived-inputs.ts';
import { idMessage, toGlobalId, withPlainIds } from './global-ids.ts';
import type { Access } from '../access.ts';
import type { DeclaredOperation } from '../operation.ts';
import type { Message } from '../text/wording.ts';
import { PAYLOAD, SEMANTIC_NON_NULL, withAccess } from './refusable.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
/** Defines the fields of a payload from the result of the operation. */
export type PayloadFields<Result extends object> = ObjectFieldBuilder<Types, Result>;

/** A payload with one object: the result of the operation, or a part of it. */
export const one =
  <Row extends object, Result extends object = Row>(
    name: string,
    type: ObjectRef<Types, Row>,
    description: string,
    rowOf: (result: Result) => object = (result) => result,
  ) =>
  (t: PayloadFields<Result>): FieldMap => ({
    // An object is never a list, which the types of the builder cannot infer.
    [name]: t.field({ type, description, resolve: (result) => rowOf(result) as never }),
  });

/** The payload of a deletion. */
export const deleted =
  <Result extends { readonly id: string }>(typename: string, what: string) =>
  (t: PayloadFields<Result>): FieldMap => ({
    deletedId: t.id({
      description: `Global id of the ${what}.`,
      resolve: ({ id }) => toGlobalId(typename, id),
    }),
  });

/** What only GraphQL knows about an operation. `Payload` is the object whose fields the payload has; by default, the result. */
export interface MutationOptions<Input, Payload extends object> extends InputDifferences {
  /** The name, if it differs from that of the operation. */
  readonly name?: string;
  readonly description?: Message;
  /** The schema, if the input has another shape than that of the operation. */
  readonly schema?: z.core.$ZodType<Input>;
  /**
   * Maps the position of a fault in the operation's input to the mutation's `input` as the client wrote it, with list positions, if the two
   * have different shapes. Undefined for a position that is the same.
   */
  readonly pathOf?: (fault: Fault, input: Readonly<Record<string, unknown>>) => readonly string[] | undefined;
  readonly payload: (t: PayloadFields<Payload>) => FieldMap;
  /** Calls the operation, for example with the columns that the document selects. */
  readonly run?: (context: GraphQLContext, input: Input, info: GraphQLResolveInfo) => Promise<Payload>;
}

/**
 * Defines the mutation of an operation, `name(input: NameInput!): NameResult`, where `union NameResult = NamePayload |
 * ValidationError | …`. Name, description, access, errors and input type come from the declaration.
 */
export function mutation<Input, Result, Payload extends object = Extract<Result, object>>(
  operation: DeclaredOperation<Input, Result>,
  options: MutationOptions<Input, Payload>,
): void;
export function mutation<Input, Payload extends object>(
  operation: DeclaredOperation<Input, unknown>,
  options: MutationOptions<Input, Payload>,
): void {
  const { declaration } = operation;
  const { name = declaration.name, schema = declaration.input, description = declaration.description } = options;
  if (!schema) throw new Error(`${name}: the operation declares no input`);
  define({
    ...declaration,
    ...options,
    name,
    schema,
    description,
    inputType: mutationInput(`${capitalize(name)}Input`, schema, options, `Input of \`${name}\`.`),
    // Without `run` the payload is made from the result of the operation.
    run: options.run ?? (operation as NonNullable<typeof options.run>),
  });
}

interface Definition<Input, Payload extends object> extends Pick<InputDifferences, 'ids' | 'names'> {
  readonly name: string;
  readonly description: Message;
  readonly access: Access;
  readonly errors?: readonly ErrorClass[];
  readonly callsOut?: boolean;
  readonly isAtMostOnce?: boolean;
  readonly schema: z.core.$ZodType<Input>;
  readonly inputType: InputRef;
  readonly pathOf?: (fault: Fault, input: GivenInput) => readonly string[] | undefined;
  readonly payload: (t: PayloadFields<Payload>) => FieldMap;
  readonly run: (context: GraphQLContext, input: Input, info: GraphQLResolveInfo) => Promise<Payload>;
}

/** The payload types by the names of their mutations. */
export const PAYLOADS = new Map<string, ObjectRef<Types, object>>();

function define<Input, Payload extends object>(definition: Definition<Input, Payload>): void {
  const { name, description, access, errors = [], callsOut, isAtMostOnce, inputType, payload } = definition;
  const payloadType = builder.objectRef<Payload>(`${capitalize(name)}Payload`).implement({
    description: `The payload of \`${name}\`, if it succeeds.`,
    extensions: PAYLOAD,
    fields: payload,
  });
  // Its fields do not depend on the payload.
  PAYLOADS.set(name, payloadType);
  builder.mutationField(name, (t) =>
    t.field({
      type: payloadType,
      // Nullable, so that an error in one mutation does not remove the answers of the others.
      nullable: true,
      description: withAccess(description, access),
      extensions: { access, ...SEMANTIC_NON_NULL, ...(callsOut && CALLS_OUT), ...(isAtMostOnce && AT_MOST_ONCE) },
      args: { input: t.arg({ type: inputType, required: true, description: 'The input of the mutation.' }) },
      errors: {
        types: [ValidationError, ForbiddenError, ...errors],
        union: {
          name: `${capitalize(name)}Result`,
          description: `The payload of \`${name}\`, or a typed error.`,
        },
      },
      // A payload is never a list, which the types of the builder cannot infer for a type parameter.
      resolve: (_, { input }, context, info) => runMutation(definition, input as GivenInput, context, info) as never,
    }),
  );
}

type GivenInput = Readonly<Record<string, unknown>>;

/** Parses the input here rather than before the resolver, so that fault messages are adapted to this mutation. */
async function runMutation<Input, Payload extends object>(
  { schema, ids = {}, names, pathOf, run }: Definition<Input, Payload>,
  given: GivenInput,
  context: GraphQLContext,
  info: GraphQLResolveInfo,
): Promise<Payload> {
  try {
    if (context.refusal) throw context.refusal;
    const input = names ? withNamesOf(names, given) : given;
    const result = await run(context, parseInput(schema, withPlainIds(input, ids)), info);
    context.onSuccess?.();
    return result;
  } catch (error) {
    context.onRefusal(error, info.fieldName);
    throw relocated(error, (fault) => {
      const [field = '', ...rest] = fault.path;
      const shown = names?.[field] ? [names[field], ...rest] : fault.path;
      const path = pathOf?.(fault, given) ?? shown;
      const message = fault.code === 'BAD_FORMAT' && (idMessage(ids, fault.path) ?? idMessage(ids, path));
      return { ...fault, path, ...(message && { message }) };
    });
  }
}

function withNamesOf(names: Readonly<Record<string, string>>, given: GivenInput): GivenInput {
  const renamed = Object.entries(names).filter(([, shown]) => Object.hasOwn(given, shown));
  if (renamed.length === 0) return given;
  const input: Record<string, unknown> = { ...given };
  for (const [field, shown] of renamed) {
    input[field] = given[shown];
    delete input[shown];
  }
  return input;
}
