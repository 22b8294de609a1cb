import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLNamedType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  execute,
  getNamedType,
  getOperationAST,
  isInputObjectType,
  typeFromAST,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { GraphQLContext } from '../core/builder.ts';

type Executor = (args: ExecutionArgs) => Promise<ExecutionResult> | ExecutionResult;

/** A document is compiled when it comes for the third time: compiling costs as much as some hundred executions of a small query. */
const RUNS_BEFORE_COMPILING = 2;
/** Compiling takes time that grows with the document; what people and programs write is far below this. */
const MAX_TOKENS_TO_COMPILE = 1000;

interface Compiled {
  readonly query: CompiledQuery['query'];
  readonly isMutation: boolean;
}

interface Plan {
  runs: number;
  compiled?: Compiled | null;
}

/**
 * Executes operations, those that come again as compiled code. Plans live as long as their parsed document, and so are bounded with the
 * cache of documents; a document that comes once costs nothing more than its execution.
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
 * Where compiled code meets an error, graphql's own executor runs the operation again and words the errors: it alone says them as the
 * specification and its other callers do. Reading twice changes nothing; of a mutation only what did not begin is run again, which is
 * when its variables were refused.
 */
async function runCompiled({ query, isMutation }: Compiled, args: ExecutionArgs): Promise<ExecutionResult> {
  const context = args.contextValue as GraphQLContext;
  context.isTentative = !isMutation;
  const result = await query(args.rootValue, context, args.variableValues);
  context.isTentative = false;
  const hasBegun = 'data' in result;
  return result.errors && !(isMutation && hasBegun) ? execute(args) : result;
}

/** Null for what is not compiled: subscriptions, and documents of which the executor should tell what is wrong. */
function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Compiled | null {
  const operation = getOperationAST(document, operationName);
  if (!operation || operation.operation === OperationTypeNode.SUBSCRIPTION || takesOneOf(schema, operation))
    return null;
  if ((document.tokenCount ?? Infinity) > MAX_TOKENS_TO_COMPILE) return null;
  const compiled = compileQuery(schema, document, operationName ?? undefined);
  return isCompiledQuery(compiled)
    ? { query: compiled.query, isMutation: operation.operation === OperationTypeNode.MUTATION }
    : null;
}

/** Whether a variable has, at any depth, an input of which exactly one field is given: compiled code would take several. */
function takesOneOf(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode): boolean {
  const seen = new Set<GraphQLNamedType>();
  const isOneOf = (type: GraphQLNamedType | undefined): boolean => {
    if (!isInputObjectType(type) || seen.has(type)) return false;
    seen.add(type);
    return type.isOneOf || Object.values(type.getFields()).some((field) => isOneOf(getNamedType(field.type)));
  };
  return variableDefinitions.some(({ type }) => isOneOf(getNamedType(typeFromAST(schema, type))));
}
