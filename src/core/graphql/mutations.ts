import type { FieldMap, InputFieldBuilder, InputFieldMap, ObjectFieldBuilder } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import type { z } from 'zod';
import { CALLS_OUT, type GraphQLContext, type SchemaTypes, builder, capitalize } from './builder.ts';
import { type Fault, ForbiddenError, ValidationError, relocated } from '../errors.ts';
import { parseInput } from '../validation.ts';
import { withPlainIds } from './nodes.ts';
import type { Access } from '../operation.ts';
import { PAYLOAD, describeAccess } from './refusable.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>;
/** Makes the fields of an input; for fields that several inputs share. */
export type InputFields = InputFieldBuilder<Types, 'InputObject'>;
/** Makes the fields of a payload, from what its operation gives. */
export type PayloadFields<Result extends object> = ObjectFieldBuilder<Types, Result>;
type ErrorClass = new (...args: never[]) => Error;

export interface MutationOptions<Schema extends z.ZodType, Result extends object> {
  readonly description: string;
  /** That of the operation: checked before the input is validated, and named in the description. */
  readonly access: Access;
  /** From the noun's `input.ts`: what REST accepts, too. */
  readonly schema: Schema;
  readonly input: (t: InputFields) => InputFieldMap;
  /** Whether exactly one of the input's fields is given (`@oneOf`). */
  readonly isOneOf?: boolean;
  /** Input fields that take a global id of the type, or a list of them, as well as plain ones. */
  readonly ids?: Readonly<Record<string, string>>;
  /**
   * Where a fault of the operation's input is in the mutation's, if that has another shape: the path in `input` as the client wrote it,
   * list positions included.
   */
  readonly pathOf?: (fault: Fault, input: Readonly<Record<string, unknown>>) => readonly string[];
  /** What it may raise beside `ValidationError` and `ForbiddenError`. */
  readonly errors?: readonly ErrorClass[];
  /** Whether the operation asks other servers. */
  readonly callsOut?: boolean;
  readonly payload: (t: PayloadFields<Result>) => FieldMap;
  readonly run: (context: GraphQLContext, input: z.output<Schema>, info: GraphQLResolveInfo) => Promise<Result>;
}

/**
 * A mutation: `name(input: NameInput!): NameResult`, where `union NameResult = NamePayload | ValidationError | …`. Its input is parsed by
 * the same schema as REST's, and its operation is the same function.
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
    description: `What \`${name}\` answers when it succeeds.`,
    extensions: PAYLOAD,
    fields: options.payload,
  });
  builder.mutationField(name, (t) =>
    t.field({
      type: payloadType,
      // So that what goes wrong in one mutation leaves the others of the document their place in the answer.
      nullable: true,
      description: `${options.description} ${describeAccess(options.access)}`,
      extensions: { access: options.access, ...(options.callsOut && CALLS_OUT) },
      args: { input: t.arg({ type: inputType, required: true, description: 'All that the mutation takes.' }) },
      errors: {
        types: [ValidationError, ForbiddenError, ...errors],
        union: {
          name: `${capitalize(name)}Result`,
          description: `The payload of \`${name}\`, or the error that stopped it.`,
        },
      },
      // The types meet here: a payload is never a list, which the builder's types cannot know of a type parameter.
      resolve: (_, { input }, context, info) => runMutation(options, input as GivenInput, context, info) as never,
    }),
  );
}

type GivenInput = Readonly<Record<string, unknown>>;

/** Parses the input here rather than before the resolver, so that what its faults say is worded for this mutation. */
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
