import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  type ValidatedExecutionArgs,
  execute,
  executeRootSelectionSet,
  validateExecutionArgs,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type CompiledQuery, compileQuery } from './compiler.ts';
import { memoryOf, tokensOf } from './document-size.ts';
import { type ExecutionPath, type GaveUpReason, NotCompiled, type NotCompiledReason } from './outcome.ts';
import { Replay } from './replay.ts';
import type { RunResult } from './running.ts';
import { conditionsOf } from './selections.ts';
import { type CoerceVariables, Coercers, type VariableValues, compileVariables } from './variables.ts';
import { type InputBounds, withBoundedErrors } from './bounded-errors.ts';

/** The result of a compiled query. Its size is private, so that it is neither sent nor copied. */
class CompiledResult {
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

/** The channels on which graphql-js publishes executions (node:diagnostics_channel). */
const NAMES = [
  'graphql:execute',
  'graphql:execute:variableCoercion',
  'graphql:execute:rootSelectionSet',
  'graphql:resolve',
];

// Loaded like in graphql-js; other platforms do not have it.
const channels = NAMES.flatMap(
  (name) => globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')?.tracingChannel(name) ?? [],
);

/** Whether anybody subscribes to executions, which only graphql-js publishes. */
const isTraced = (): boolean => channels.some(({ hasSubscribers }) => hasSubscribers);

export interface ExecutorOptions {
  /**
   * Called for each execution with its path, the reason why it was not only compiled, and the field (`Query.session`)
   * at which it gave up.
   */
  readonly onExecution?: OnExecution;
  /** Called after compiled code has given up on a query, before graphql-js executes it. */
  readonly beforeRetry?: (args: ExecutionArgs) => void;
  /** Returns the approximate length as JSON of an object that a custom scalar serializes to; see `sizeOfResult`. */
  readonly sizeOf?: (value: object) => number;
  /** Number of executions after which a query is compiled, because compiling costs as much as several executions. */
  readonly runsBeforeCompiling?: number;
  /** Maximum number of executions between two trials of compiled code that keeps giving up. */
  readonly maxPause?: number;
  /** Memory for compiled code and its documents, in bytes; the least recently used is dropped first. */
  readonly maxBytes?: number;
  /** Bounds of the values of variables. */
  readonly inputBounds?: InputBounds;
}

export type OnExecution = (
  path: ExecutionPath,
  reason: NotCompiledReason | GaveUpReason | undefined,
  field?: string,
) => void;

export type MaybePromise<Value> = Value | Promise<Value>;
export type Execute = (args: ExecutionArgs) => MaybePromise<ExecutionResult>;

const RUNS_BEFORE_COMPILING = 2;
const MAX_BYTES = 64 * 1024 * 1024;
/** Ordinary documents are much smaller; the time to compile grows with the size. */
const MAX_TOKENS = 1000;
/** Maximum number of compiled variants of an operation, one for each combination of its `@skip` and `@include` conditions. */
const MAX_VARIANTS = 16;
/** Memory per character of code. */
const BYTES_A_CHARACTER = 10;
const MAX_PAUSE = 1024;
const UNBOUNDED: InputBounds = { properties: Infinity, nameCharacters: Infinity, items: Infinity };

/** Arguments that compiled code supports; with any other argument graphql-js executes. */
const SUPPORTED_ARGS: ReadonlySet<string> = new Set([
  'schema',
  'document',
  'rootValue',
  'contextValue',
  'variableValues',
  'operationName',
]);

/** An operation of a document. It lives as long as the document, so it must not refer to a request. */
interface Plan {
  /** The arguments of graphql-js that do not depend on the request. */
  readonly validated: Omit<ValidatedExecutionArgs, keyof RequestArgs>;
  readonly coerceVariables: CoerceVariables;
  /** Variables on which the selections depend. */
  readonly conditions: readonly string[];
  /** The compiled code for their values. */
  readonly variants: Map<string, Variant> | LRUCache<string, Variant>;
  /** The reason why it is never compiled. */
  readonly refusal: NotCompiledReason | undefined;
}

interface Planned {
  readonly plan: Plan;
  readonly variables?: VariableValues;
}

type RequestArgs = Pick<ValidatedExecutionArgs, 'rootValue' | 'contextValue' | 'variableValues' | 'rawVariableValues'>;

interface Variant {
  runs: number;
  refusal?: NotCompiledReason;
  /** Failures since the last success. */
  failures: number;
  /** Number of executions until the next trial. */
  pause: number;
}

/** Creates an executor for the queries of one schema; README.md describes its guarantees. */
export function createExecutor(schema: GraphQLSchema, options: ExecutorOptions = {}): Execute {
  const executor = new Executor(schema, options);
  return (args) => executor.execute(args);
}

class Executor {
  readonly #schema: GraphQLSchema;
  readonly #options: ExecutorOptions;
  readonly #isIncremental: boolean;
  readonly #plans = new WeakMap<DocumentNode, Map<string, Plan>>();
  readonly #compiled: LRUCache<Variant, CompiledQuery>;
  readonly #bounds: InputBounds;
  readonly #coercers: Coercers;
  #replay: Replay | undefined;

  constructor(schema: GraphQLSchema, options: ExecutorOptions) {
    this.#schema = schema;
    this.#options = options;
    this.#bounds = options.inputBounds ?? UNBOUNDED;
    this.#coercers = new Coercers(this.#bounds.items);
    this.#isIncremental = Boolean(schema.getDirective('defer') ?? schema.getDirective('stream'));
    this.#compiled = new LRUCache({
      maxSize: options.maxBytes ?? MAX_BYTES,
      dispose: (_, variant) => void (variant.runs = 0),
    });
  }

  execute(args: ExecutionArgs): MaybePromise<ExecutionResult> {
    const unsupported = this.#unsupported(args);
    if (unsupported) return this.#interpret(unsupported, () => withBoundedErrors(args, execute, this.#bounds));
    const planned = this.#planOf(args);
    if ('errors' in planned) return this.#interpret('invalid_request', () => planned);
    const { plan } = planned;
    const variables = planned.variables ?? plan.coerceVariables(args.variableValues ?? {});
    // graphql-js creates the errors.
    if (!variables) return this.#interpret('invalid_request', () => withBoundedErrors(args, execute, this.#bounds));
    return this.#executePlan(plan, args, variables);
  }

  #executePlan(plan: Plan, args: ExecutionArgs, variables: VariableValues): MaybePromise<ExecutionResult> {
    const variant = plan.refusal ?? this.#variantOf(plan, variables);
    const code = typeof variant === 'string' ? variant : this.#codeOf(variant, plan, variables);
    if (typeof variant === 'string' || typeof code === 'string') {
      return this.#interpret(typeof code === 'string' ? code : 'new', () => interpret(plan, args, variables));
    }
    const answer = (result: RunResult) => {
      if ('data' in result) return this.#succeeded(variant, result);
      this.#failed(variant);
      this.#options.onExecution?.('gave_up', result.gaveUp.reason, result.gaveUp.field);
      this.#options.beforeRetry?.(args);
      // Coerce again, because resolvers may have changed the values of variables.
      const again = plan.coerceVariables(args.variableValues ?? {}) ?? variables;
      const { outcome } = result.gaveUp;
      if (!outcome || !this.#replay) return interpret(plan, args, again);
      this.#replay.set(again, outcome);
      return interpret(plan, args, again, this.#replay.schema);
    };
    const { rootValue, contextValue: context } = args;
    const result = code.run({ rootValue, context, variables, sizeOf: this.#options.sizeOf ?? (() => 0) });
    return result instanceof Promise ? result.then(answer) : answer(result);
  }

  #interpret(reason: NotCompiledReason, run: () => MaybePromise<ExecutionResult>): MaybePromise<ExecutionResult> {
    this.#options.onExecution?.('interpreted', reason);
    return run();
  }

  #unsupported(args: ExecutionArgs): NotCompiledReason | undefined {
    if (args.schema !== this.#schema) return 'other_schema';
    if (this.#isIncremental) return 'incremental_schema';
    for (const name in args) {
      if (!SUPPORTED_ARGS.has(name) && args[name as keyof ExecutionArgs] != null) return 'execution_options';
    }
    return isTraced() ? 'traced' : undefined;
  }

  /** The plan of an operation; when it is created, also the variables of this request, or the errors of graphql-js. */
  #planOf(args: ExecutionArgs): Planned | { errors: readonly GraphQLError[] } {
    let plans = this.#plans.get(args.document);
    const known = plans?.get(args.operationName ?? '');
    if (known) return { plan: known };
    const result = withBoundedErrors(args, validateExecutionArgs, this.#bounds);
    if ('errors' in result) return { errors: result.errors };
    if (!('schema' in result)) return { errors: result };
    const { rootValue: _1, contextValue: _2, variableValues: variables, rawVariableValues: _3, ...validated } = result;
    const { document, operation } = validated;
    const conditions = conditionsOf(document);
    const plan: Plan = {
      validated,
      coerceVariables: compileVariables(this.#schema, operation.variableDefinitions ?? [], variables, this.#coercers),
      conditions,
      variants: conditions.length === 0 ? new Map<string, Variant>() : this.#newVariants(),
      refusal: refusalOf(document, operation.operation),
    };
    if (!plans) this.#plans.set(document, (plans = new Map<string, Plan>()));
    plans.set(args.operationName ?? '', plan);
    return { plan, variables };
  }

  /** Takes some KB, and is needed only by documents with conditions. */
  #newVariants(): Plan['variants'] {
    return new LRUCache<string, Variant>({ max: MAX_VARIANTS, dispose: (variant) => this.#compiled.delete(variant) });
  }

  #variantOf({ conditions, variants }: Plan, { coerced }: VariableValues): Variant | NotCompiledReason {
    let key = '';
    for (const name of conditions) {
      const value = coerced[name];
      if (value !== true && value !== false) return 'condition';
      key += value ? '1' : '0';
    }
    let variant = variants.get(key);
    if (!variant) variants.set(key, (variant = { runs: 0, failures: 0, pause: 0 }));
    return variant;
  }

  #codeOf(variant: Variant, plan: Plan, variables: VariableValues): CompiledQuery | NotCompiledReason {
    if (variant.refusal) return variant.refusal;
    if (variant.pause > 0) {
      variant.pause -= 1;
      return 'gives_up';
    }
    const code = this.#compiled.get(variant);
    if (code) return code;
    variant.runs += 1;
    if (variant.runs <= (this.#options.runsBeforeCompiling ?? RUNS_BEFORE_COMPILING)) return 'new';
    return this.#compile(variant, plan, variables);
  }

  #compile(variant: Variant, { validated }: Plan, variables: VariableValues): CompiledQuery | NotCompiledReason {
    const { document, operation } = validated;
    try {
      // Created before any mutation is called.
      if (operation.operation === OperationTypeNode.MUTATION) this.#replay ??= new Replay(this.#schema);
      const code = compileQuery(this.#schema, document, operation, variables);
      this.#compiled.set(variant, code, { size: BYTES_A_CHARACTER * code.size + memoryOf(document) });
      return code;
    } catch (error) {
      return (variant.refusal = error instanceof NotCompiled ? error.reason : 'compiler_failed');
    }
  }

  #succeeded(variant: Variant, { data, size }: Extract<RunResult, { data: unknown }>): ExecutionResult {
    variant.failures = 0;
    this.#options.onExecution?.('compiled', undefined);
    return new CompiledResult(data, size);
  }

  /** The pause between two trials doubles, so a query that keeps giving up costs hardly more than with graphql-js alone. */
  #failed(variant: Variant): void {
    variant.failures += 1;
    variant.pause = Math.min(2 ** variant.failures, this.#options.maxPause ?? MAX_PAUSE);
  }
}

const interpret = (
  { validated }: Plan,
  { rootValue, contextValue, variableValues: rawVariableValues }: ExecutionArgs,
  variableValues: VariableValues,
  schema = validated.schema,
): MaybePromise<ExecutionResult> =>
  executeRootSelectionSet({ ...validated, schema, rootValue, contextValue, variableValues, rawVariableValues });

function refusalOf(document: DocumentNode, operation: OperationTypeNode): NotCompiledReason | undefined {
  if (operation === OperationTypeNode.SUBSCRIPTION) return 'subscription';
  if (document.definitions.some((node) => node.kind === Kind.FRAGMENT_DEFINITION && node.variableDefinitions?.length))
    return 'fragment_arguments';
  return tokensOf(document) > MAX_TOKENS ? 'too_large' : undefined;
}
