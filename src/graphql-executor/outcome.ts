/** How an operation was executed: by compiled code, by graphql-js, or by graphql-js after compiled code gave up. */
export type ExecutionPath = 'compiled' | 'interpreted' | 'gave_up';

/** Why graphql-js executed an operation from the start. */
export type NotCompiledReason =
  // It was sent too rarely, or compiled code gave up on it recently.
  | 'new'
  | 'gives_up'
  // Properties of the request.
  | 'invalid_request'
  | 'subscription'
  | 'execution_options'
  | 'other_schema'
  | 'incremental_schema'
  | 'traced'
  // Properties of the document.
  // A mutation with several fields.
  | 'mutation'
  | 'too_large'
  | 'introspection'
  | 'unknown_field'
  | 'directive'
  | 'condition'
  | 'fragment_arguments'
  | 'response_name'
  // A defect of this package.
  | 'compiler_failed';

/** Why compiled code gave up. */
export type GaveUpReason =
  // A resolver, a getter or another function of the schema.
  | 'threw'
  | 'invalid_arguments'
  | 'invalid_leaf'
  | 'error_value'
  | 'null_value'
  | 'unresolved_type'
  // Values that only graphql-js can process.
  | 'not_an_array'
  | 'not_an_object'
  | 'nested_promise'
  | 'function_value'
  // A resolver read its path below a list.
  | 'path';

/** Thrown while an operation is compiled. */
export class NotCompiled extends Error {
  readonly reason: NotCompiledReason;

  constructor(reason: NotCompiledReason) {
    super(reason);
    this.reason = reason;
  }
}

/** Thrown while compiled code runs. */
export class GivenUp extends Error {
  readonly reason: GaveUpReason;

  constructor(reason: GaveUpReason) {
    super(`compiled code gave up; graphql-js executes the operation: ${reason}`);
    this.reason = reason;
  }
}

const known = new Map<GaveUpReason, GivenUp>();

/** One shared error per reason: creating a stack would cost more than everything else, and nobody reads it. */
export function giveUp(reason: GaveUpReason): never {
  let error = known.get(reason);
  if (!error) known.set(reason, (error = new GivenUp(reason)));
  throw error;
}
