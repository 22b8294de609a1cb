import type { ExecutionResult } from 'graphql';

/** What compiled code answers. Its size is not part of the answer. */
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
 * About how many characters the data of a result have as JSON: escapes are not counted, and numbers as one. Compiled code counts while it makes
 * the answer, which costs hardly anything. Undefined for the results of graphql.
 */
export const sizeOfResult = (result: ExecutionResult): number | undefined => CompiledResult.sizeOf(result);
