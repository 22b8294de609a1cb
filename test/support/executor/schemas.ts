import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLFieldResolver,
  type GraphQLIsTypeOfFn,
  type GraphQLSchema,
  type GraphQLTypeResolver,
  buildSchema,
  execute,
  isAbstractType,
  isEnumType,
  isObjectType,
  isScalarType,
  parse,
} from 'graphql';
import { type ExecutorOptions, createExecutor } from '../../../src/graphql-executor/executor.ts';

type Resolver = GraphQLFieldResolver<never, unknown>;

/** Properties of types that SDL cannot express. */
export interface TypeMap {
  readonly [type: string]:
    | {
        readonly fields?: Readonly<Record<string, Resolver>>;
        readonly isTypeOf?: GraphQLIsTypeOfFn<unknown, unknown>;
        readonly resolveType?: GraphQLTypeResolver<unknown, unknown>;
        readonly values?: Readonly<Record<string, unknown>>;
        readonly coerceOutputValue?: (value: unknown) => unknown;
        readonly coerceInputValue?: (value: unknown) => unknown;
      }
    | undefined;
}

export function schemaOf(sdl: string, types: TypeMap = {}): GraphQLSchema {
  const schema = buildSchema(sdl, { noLocation: true });
  for (const [name, given] of Object.entries(types)) {
    const type = schema.getType(name);
    const { fields = {}, values = {}, ...functions } = given ?? {};
    if (isObjectType(type)) {
      for (const [field, resolve] of Object.entries(fields)) Object.assign(type.getFields()[field] ?? {}, { resolve });
    }
    if (isEnumType(type)) for (const value of type.getValues()) value.value = values[value.name] ?? value.value;
    if (isObjectType(type) || isAbstractType(type) || isScalarType(type)) Object.assign(type, functions);
  }
  return schema;
}

export interface Request extends Omit<Partial<ExecutionArgs>, 'document' | 'schema' | 'rootValue'> {
  readonly query: string | DocumentNode;
  /** Creates a new root value for each execution. */
  readonly root?: () => unknown;
}

export interface Executed {
  readonly result: unknown;
  /** `compiled`, `interpreted: new`, `gave_up: null_value at Query.a` */
  readonly path: string;
}

/** The result as a client receives it: without prototypes, and with errors in their serialized form. */
export const asSent = (result: ExecutionResult): unknown => JSON.parse(JSON.stringify(result));

function argsOf(schema: GraphQLSchema, document: DocumentNode, request: Request): ExecutionArgs {
  const { root, ...others } = request;
  const args = Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'query'));
  return { ...args, schema, document, rootValue: root?.() };
}

const documentOf = ({ query }: Request) =>
  typeof query === 'string' ? parse(query, { experimentalFragmentArguments: true }) : query;

export async function executeByGraphQL(schema: GraphQLSchema, request: Request): Promise<unknown> {
  return asSent(await execute(argsOf(schema, documentOf(request), request)));
}

/** An executor that reports for each execution which path it took. */
export function observedExecutor(schema: GraphQLSchema, options: ExecutorOptions = {}) {
  let path = '';
  const run = createExecutor(schema, {
    runsBeforeCompiling: 0,
    ...options,
    onExecution: (way, reason, field) => {
      path = [way, reason && `: ${reason}`, field && ` at ${field}`].filter(Boolean).join('');
      options.onExecution?.(way, reason, field);
    },
  });
  const documents = new Map<string | DocumentNode, DocumentNode>();
  return async (request: Request): Promise<Executed> => {
    const document = documents.get(request.query) ?? documentOf(request);
    documents.set(request.query, document);
    const result = asSent(await run(argsOf(schema, document, request)));
    return { result, path };
  };
}
