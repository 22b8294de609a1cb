import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
  execute,
  getOperationAST,
  getVariableValues,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { GraphQLContext } from '../core/graphql/builder.ts';
import type { CompiledOperation, Execution } from './compiled-operation.ts';
import { compileOperation } from './compiler.ts';
import { memoryOf } from '../gateway/graphql/limits.ts';
import { conditionsOf } from './selections.ts';
import { type CoerceVariables, type VariableValues, compileVariables } from './variables.ts';

type Executor = (args: ExecutionArgs) => Promise<ExecutionResult> | ExecutionResult;

/** A document is compiled when it comes for the third time: compiling costs as much as some executions. */
const RUNS_BEFORE_COMPILING = 2;
/** Compiling takes time that grows with the document; what people and programs write is far below this. */
const MAX_TOKENS_TO_COMPILE = 1000;
/** A document is compiled for as many combinations of what its `@skip` and `@include` depend on. */
const MAX_VARIANTS = 16;
/** Bytes of memory for compiled code, a character of which takes some ten, and the documents it belongs to; what was not asked for longest goes first. */
const MAX_COMPILED_BYTES = 64 * 1024 * 1024;
const BYTES_A_CHARACTER = 10;

/** An operation of a document. */
interface Plan {
  /** Variables on whose values the selections depend. */
  readonly conditions: readonly string[];
  /** Once graphql has coerced its variables. */
  coerceVariables?: CoerceVariables;
  /** By those values. */
  readonly variants: Map<string, Variant>;
}

interface Variant {
  runs: number;
}

/**
 * Executes operations, those that come again as compiled code. Plans live as long as their parsed document, and so are bounded with the
 * cache of documents; a document that comes once costs nothing more than its execution.
 *
 * Where compiled code gives up, graphql's own executor runs the operation again and words the errors: it alone says them as the
 * specification has them. Reading twice changes nothing; and what the fields of a mutation have come to is kept, so that none runs twice.
 */
export function createExecutor(schema: GraphQLSchema): Executor {
  const plans = new WeakMap<OperationDefinitionNode, Plan>();
  const compiled = new LRUCache<Variant, CompiledOperation>({
    maxSize: MAX_COMPILED_BYTES,
    dispose: (_, variant) => void (variant.runs = 0),
  });
  settleOnce(schema);

  function planOf(operation: OperationDefinitionNode, document: DocumentNode): Plan {
    let plan = plans.get(operation);
    if (!plan) plans.set(operation, (plan = { conditions: conditionsOf(document), variants: new Map() }));
    return plan;
  }

  function variablesFor(
    plan: Plan,
    { variableDefinitions = [] }: OperationDefinitionNode,
    inputs: NonNullable<ExecutionArgs['variableValues']>,
  ): VariableValues | undefined {
    if (plan.coerceVariables) return plan.coerceVariables(inputs);
    const { variableValues } = getVariableValues(schema, variableDefinitions, inputs);
    if (variableValues) plan.coerceVariables = compileVariables(schema, variableDefinitions, variableValues);
    return variableValues;
  }

  function compiledFor(
    { conditions, variants }: Plan,
    operation: OperationDefinitionNode,
    document: DocumentNode,
    variables: VariableValues,
  ): CompiledOperation | undefined {
    const key = conditions.map((name) => String(variables.coerced[name])).join();
    let variant = variants.get(key);
    if (!variant) {
      if (variants.size === MAX_VARIANTS) return undefined;
      variants.set(key, (variant = { runs: 0 }));
    }
    variant.runs += 1;
    if (variant.runs === RUNS_BEFORE_COMPILING + 1) {
      const made = compileOperation(schema, document, operation, variables);
      if (made) compiled.set(variant, made, { size: BYTES_A_CHARACTER * made.size + memoryOf(document) });
    }
    return compiled.get(variant);
  }

  return async (args) => {
    const { document, operationName, variableValues, rootValue } = args;
    const operation = getOperationAST(document, operationName);
    if (!operation || (document.tokenCount ?? Infinity) > MAX_TOKENS_TO_COMPILE) return execute(args);
    const plan = planOf(operation, document);
    const variables = variablesFor(plan, operation, variableValues ?? {});
    const code = variables && compiledFor(plan, operation, document, variables);
    if (!code) return execute(args);
    const context = args.contextValue as GraphQLContext;
    const settled: Execution['settled'] = new Map();
    context.isTentative = true;
    try {
      return { data: await code.run({ rootValue, context, variables, settled }) };
    } catch {
      context.settled = settled;
      context.isTentative = false;
      // What was read for nothing does not count.
      context.budget.renew();
      return execute(args);
    }
  };
}

/** Has the fields of mutations that have been run in a context answer what they came to. */
function settleOnce(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const { resolve } = field;
    field.resolve = (source, args, context: GraphQLContext, info) =>
      context.settled?.get(String(info.path.key)) ?? resolve?.(source, args, context, info);
  }
}
