import type { ExecutionResult } from 'graphql';

/** The result of a compiled query. Its size is private, so that it is neither sent nor copied. */
export class CompiledResult {
  readonly data: Record<string, unknown>;
  readonly #size: number;

  constructor(data: Record<string, unknown>, size: number) {
    this.data = data;
    this.#size = size;
  }

  static sizeOf(result: ExecutionResult): number | undefined {
    return #size in result ? result.#size : undefined;
  }
}

/**
 * The approximate length of a result's data as JSON: escapes do not count, and a number counts as one character.
 * Compiled code adds it up while it builds the data. Undefined for results of graphql-js.
 */
export const sizeOfResult = (result: ExecutionResult): number | undefined => CompiledResult.sizeOf(result);
