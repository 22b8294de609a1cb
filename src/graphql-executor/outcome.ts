/** How an operation was executed: by compiled code, by graphql, or by graphql after compiled code had given up. */
export type ExecutionPath = 'compiled' | 'interpreted' | 'gave_up';

/** Why an operation was left to graphql from the start. */
export type NotCompiledReason =
  // It has come too seldom; or compiled code gave up on it lately.
  | 'new'
  | 'gives_up'
  // Of the request.
  | 'invalid_request'
  | 'mutation'
  | 'subscription'
  | 'execution_options'
  | 'other_schema'
  | 'incremental_schema'
  | 'traced'
  // Of the document.
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
  // Values that only graphql knows how to read.
  | 'not_an_array'
  | 'not_an_object'
  | 'nested_promise'
  | 'function_value'
  // A resolver asked where in a list its object is.
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
    super(`the compiled execution ends here, and graphql executes the operation: ${reason}`);
    this.reason = reason;
  }
}

const known = new Map<GaveUpReason, GivenUp>();

/** One error for each reason: a stack would cost more than the rest of giving up, and nobody reads it. */
export function giveUp(reason: GaveUpReason): never {
  let error = known.get(reason);
  if (!error) known.set(reason, (error = new GivenUp(reason)));
  throw error;
}
