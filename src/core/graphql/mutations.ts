import type { FieldMap, InputFieldBuilder, InputFieldMap, ObjectFieldBuilder } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import type { z } from 'zod';
import { CALLS_OUT, type GraphQLContext, type SchemaTypes, builder, capitalize } from './builder.ts';
import { type Fault, ForbiddenError, ValidationError, relocated } from '../errors.ts';
import { parseInput } from '../input/validation.ts';
import { withPlainIds } from './global-ids.ts';
import type { Access } from '../access.ts';
import { PAYLOAD, describeAccess } from './refusable.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
/** Defines input fields that several inputs share. */
export type InputFields = InputFieldBuilder<Types, 'InputObject'>;
/** Defines the fields of a payload from the result of the operation. */
export type PayloadFields<Result extends object> = ObjectFieldBuilder<Types, Result>;
type ErrorClass = new (...args: never[]) => Error;

export interface MutationOptions<Schema extends z.ZodType, Result extends object> {
  readonly description: string;
  /** The access of the operation, checked before the input is validated, and named in the description. */
  readonly access: Access;
  /** From `input.ts`: the same schema as for REST. */
  readonly schema: Schema;
  readonly input: (t: InputFields) => InputFieldMap;
  /** Whether exactly one of the input's fields must be given (`@oneOf`). */
  readonly isOneOf?: boolean;
  /** Input fields that accept a global id of the type, or a list of them, as well as plain ids. */
  readonly ids?: Readonly<Record<string, string>>;
  /**
   * Maps the position of a fault in the operation's input to the mutation's `input` as the client wrote it, with list positions, if the two
   * have different shapes.
   */
  readonly pathOf?: (fault: Fault, input: Readonly<Record<string, unknown>>) => readonly string[];
  /** Its typed errors in addition to `ValidationError` and `ForbiddenError`. */
  readonly errors?: readonly ErrorClass[];
  /** Whether the operation calls other servers. */
  readonly callsOut?: boolean;
  readonly payload: (t: PayloadFields<Result>) => FieldMap;
  readonly run: (context: GraphQLContext, input: z.output<Schema>, info: GraphQLResolveInfo) => Promise<Result>;
}

/**
 * Defines a mutation `name(input: NameInput!): NameResult`, where `union NameResult = NamePayload | ValidationError | …`. Its input is parsed
 * by the same schema as in REST, and it calls the same operation.
 */
export function mutation<Schema extends z.ZodType, Result extends object>(
  name: string,
  options: MutationOptions<Schema, Result>,
): void {
  const { errors = [] } = options;
  const inputType = builder.inputType(`${capitalize(name)}Input`, {
    description: `Input of \`${name}\`.`,
    isOneOf: options.isOneOf,
    fields: options.input,
  });
  const payloadType = builder.objectRef<Result>(`${capitalize(name)}Payload`).implement({
    description: `The payload of \`${name}\`, if it succeeds.`,
    extensions: PAYLOAD,
    fields: options.payload,
  });
  builder.mutationField(name, (t) =>
    t.field({
      type: payloadType,
      // Nullable, so that an error in one mutation does not remove the answers of the others.
      nullable: true,
      description: `${options.description} ${describeAccess(options.access)}`,
      extensions: { access: options.access, ...(options.callsOut && CALLS_OUT) },
      args: { input: t.arg({ type: inputType, required: true, description: 'The input of the mutation.' }) },
      errors: {
        types: [ValidationError, ForbiddenError, ...errors],
        union: {
          name: `${capitalize(name)}Result`,
          description: `The payload of \`${name}\`, or a typed error.`,
        },
      },
      // A payload is never a list, which the types of the builder cannot infer for a type parameter.
      resolve: (_, { input }, context, info) => runMutation(options, input as GivenInput, context, info) as never,
    }),
  );
}

type GivenInput = Readonly<Record<string, unknown>>;

/** Parses the input here rather than before the resolver, so that fault messages are adapted to this mutation. */
async function runMutation<Schema extends z.ZodType, Result extends object>(
  { schema, ids = {}, pathOf, run }: MutationOptions<Schema, Result>,
  given: GivenInput,
  context: GraphQLContext,
  info: GraphQLResolveInfo,
): Promise<Result> {
  try {
    if (context.refusal) throw context.refusal;
    const result = await run(context, parseInput(schema, withPlainIds(given, ids)), info);
    context.onSuccess?.();
    return result;
  } catch (error) {
    context.onRefusal(error, info.fieldName);
    throw relocated(error, (fault) => {
      const path = pathOf?.(fault, given) ?? fault.path;
      const type = path.length === 1 && fault.code === 'BAD_FORMAT' ? ids[path[0] ?? ''] : undefined;
      return { ...fault, path, ...(type && { message: `must be an id of the type ${type}` }) };
    });
  }
}
