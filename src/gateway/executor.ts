import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  OperationTypeNode,
  execute,
  getOperationAST,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';

type Executor = (args: ExecutionArgs) => Promise<ExecutionResult> | ExecutionResult;

/** A document is compiled when it comes for the third time: compiling costs as much as some hundred executions of a small query. */
const RUNS_BEFORE_COMPILING = 2;
/** Compiling takes time that grows with the document; what people and programs write is far below this. */
const MAX_TOKENS_TO_COMPILE = 1000;

interface Plan {
  runs: number;
  compiled?: CompiledQuery | null;
}

/**
 * Executes operations, queries that come again as compiled code. Plans live as long as their parsed document, and so are bounded with the
 * cache of documents; a document that comes once costs nothing more than its execution. Mutations are not worth compiling: the database
 * is their time.
 */
export function createExecutor(schema: GraphQLSchema): Executor {
  const plansOf = new WeakMap<DocumentNode, Map<string, Plan>>();

  function planFor(document: DocumentNode, operationName: string): Plan {
    let plans = plansOf.get(document);
    if (!plans) plansOf.set(document, (plans = new Map<string, Plan>()));
    let plan = plans.get(operationName);
    if (!plan) plans.set(operationName, (plan = { runs: 0 }));
    return plan;
  }

  return (args) => {
    const { document, operationName } = args;
    const plan = planFor(document, operationName ?? '');
    plan.runs += 1;
    if (plan.compiled === undefined && plan.runs > RUNS_BEFORE_COMPILING)
      plan.compiled = compile(schema, document, operationName);
    return plan.compiled ? runCompiled(plan.compiled, args) : execute(args);
  };
}

/**
 * Where compiled code meets an error, graphql's own executor runs the query again and words the errors: it alone says them as the
 * specification and its other callers do, and reading twice changes nothing.
 */
async function runCompiled(compiled: CompiledQuery, args: ExecutionArgs): Promise<ExecutionResult> {
  const result = await compiled.query(args.rootValue, args.contextValue, args.variableValues);
  return result.errors ? execute(args) : result;
}

/** Null for what is not compiled: other operations than queries, and documents of which the executor should tell what is wrong. */
function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): CompiledQuery | null {
  if ((document.tokenCount ?? Infinity) > MAX_TOKENS_TO_COMPILE) return null;
  if (getOperationAST(document, operationName)?.operation !== OperationTypeNode.QUERY) return null;
  const compiled = compileQuery(schema, document, operationName ?? undefined);
  return isCompiledQuery(compiled) ? compiled : null;
}
