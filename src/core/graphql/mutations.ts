import type { FieldMap, InputFieldBuilder, InputFieldMap, ObjectFieldBuilder } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import { z } from 'zod';
import { CALLS_OUT, type GraphQLContext, type SchemaTypes, builder, capitalize } from './builder.ts';
import { ForbiddenError, ValidationError } from '../errors.ts';
import { keyFromId } from './nodes.ts';
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
  /** Input fields that take a global id of the type, as well as the plain one. */
  readonly ids?: Readonly<Record<string, string>>;
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
  const { ids = {}, errors = [] } = options;
  const inputType = builder.inputType(`${capitalize(name)}Input`, {
    description: `Input of \`${name}\`.`,
    isOneOf: options.isOneOf,
    validate: z.preprocess((value) => withPlainIds(value, ids), options.schema),
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
      // The types meet here: the validation plugin has replaced the arguments by the schema's output, and a payload is never a list,
      // which the builder's types cannot know of a type parameter.
      resolve: (_, args, context, info) =>
        told(options.run(context, args.input as z.output<Schema>, info), context) as never,
    }),
  );
}

async function told<Result>(result: Promise<Result>, { onSuccess }: GraphQLContext): Promise<Result> {
  const succeeded = await result;
  onSuccess?.();
  return succeeded;
}

function withPlainIds(value: unknown, ids: Readonly<Record<string, string>>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, given]) => [key, ids[key] ? keyFromId(ids[key], given) : given]),
  );
}
