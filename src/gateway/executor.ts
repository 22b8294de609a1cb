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
import type { GraphQLContext } from '../core/builder.ts';
import type { CompiledOperation, Execution, VariableValues } from './compiled-operation.ts';
import { compileOperation } from './graphql-compiler.ts';
import { conditionsOf } from './graphql-selections.ts';
import { type CoerceVariables, compileVariables } from './graphql-variables.ts';

type Executor = (args: ExecutionArgs) => Promise<ExecutionResult> | ExecutionResult;

/** A document is compiled when it comes for the third time: compiling costs as much as some executions. */
const RUNS_BEFORE_COMPILING = 2;
/** Compiling takes time that grows with the document; what people and programs write is far below this. */
const MAX_TOKENS_TO_COMPILE = 1000;
/** A document is compiled for as many combinations of what its `@skip` and `@include` depend on. */
const MAX_VARIANTS = 16;

/** One operation of a document, and what is compiled of it. */
interface Plan {
  readonly operation: OperationDefinitionNode;
  /** Variables on whose values the selections depend. */
  readonly conditions: readonly string[];
  /** Once graphql has coerced its variables. */
  coerceVariables?: CoerceVariables;
  readonly variants: Map<string, { runs: number; compiled?: CompiledOperation | undefined }>;
}

/**
 * Executes operations, those that come again as compiled code. Plans live as long as their parsed document, and so are bounded with the
 * cache of documents; a document that comes once costs nothing more than its execution.
 *
 * Where compiled code gives up, graphql's own executor runs the operation again and words the errors: it alone says them as the
 * specification has them. Reading twice changes nothing; and what the fields of a mutation have come to is kept, so that none runs twice.
 */
export function createExecutor(schema: GraphQLSchema): Executor {
  const plans = new WeakMap<DocumentNode, Map<string, Plan | undefined>>();
  settleOnce(schema);

  function planOf({ document, operationName }: ExecutionArgs): Plan | undefined {
    let ofDocument = plans.get(document);
    if (!ofDocument) plans.set(document, (ofDocument = new Map<string, Plan | undefined>()));
    const name = operationName ?? '';
    if (!ofDocument.has(name)) ofDocument.set(name, makePlan(document, operationName));
    return ofDocument.get(name);
  }

  function compiledFor(plan: Plan, { document }: ExecutionArgs, variables: VariableValues) {
    const key = plan.conditions.map((name) => String(variables.coerced[name])).join();
    let variant = plan.variants.get(key);
    if (!variant) {
      if (plan.variants.size === MAX_VARIANTS) return undefined;
      plan.variants.set(key, (variant = { runs: 0 }));
    }
    variant.runs += 1;
    if (variant.runs === RUNS_BEFORE_COMPILING + 1)
      variant.compiled = compileOperation(schema, document, plan.operation, variables);
    return variant.compiled;
  }

  function variablesFor(plan: Plan, inputs: NonNullable<ExecutionArgs['variableValues']>): VariableValues | undefined {
    if (plan.coerceVariables) return plan.coerceVariables(inputs);
    const { variableDefinitions = [] } = plan.operation;
    const { variableValues } = getVariableValues(schema, variableDefinitions, inputs);
    if (variableValues) plan.coerceVariables = compileVariables(schema, variableDefinitions, variableValues);
    return variableValues;
  }

  return async (args) => {
    const plan = planOf(args);
    if (!plan) return execute(args);
    const variables = variablesFor(plan, args.variableValues ?? {});
    const compiled = variables && compiledFor(plan, args, variables);
    if (!compiled) return execute(args);
    const context = args.contextValue as GraphQLContext;
    const settled: Execution['settled'] = new Map();
    context.isTentative = true;
    try {
      return { data: await compiled({ rootValue: args.rootValue, context, variables, settled }) };
    } catch {
      context.settled = settled;
      context.isTentative = false;
      return execute(args);
    }
  };
}

function makePlan(document: DocumentNode, operationName: string | null | undefined): Plan | undefined {
  const operation = getOperationAST(document, operationName);
  if (!operation || (document.tokenCount ?? Infinity) > MAX_TOKENS_TO_COMPILE) return undefined;
  return { operation, conditions: conditionsOf(document), variants: new Map() };
}

/** Has the fields of mutations that have been run in a context answer what they came to. */
function settleOnce(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const { resolve } = field;
    field.resolve = (source, args, context: GraphQLContext, info) =>
      context.settled?.get(String(info.path.key)) ?? resolve?.(source, args, context, info);
  }
}
