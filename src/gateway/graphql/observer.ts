import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
  getOperationAST,
} from 'graphql';
import type { SpanOptions, Tracing } from '../../core/tracing/tracing.ts';
import type { Observers } from '../telemetry/observe.ts';
import { deprecatedFieldsIn } from './deprecated-fields.ts';
import { rootFieldsOf } from './root-fields.ts';

interface Observed {
  /** Its name is such as `query session` or `mutation createSession,updateSession`. It contains only names from the schema. */
  readonly span: SpanOptions;
  /** The response names, and the fields of the schema, such as `Query.session`. */
  readonly fields: readonly { readonly key: string; readonly field: string }[];
  readonly deprecated: readonly string[];
}

/** Maximum number of fields in the name of a span. */
const MAX_NAMED = 5;
/** Maximum number of clients that a process counts by their names. */
const MAX_CLIENTS = 50;

/** Runs operations in spans and counts their fields of `Query` and `Mutation`. Data about a document is cached as long as the document. */
export function createGraphQLObserver({ metrics, tracing }: Observers) {
  const known = new WeakMap<OperationDefinitionNode, Observed>();

  const clients = new Set<string>();
  /** Administrators choose the names, so that only the first ones are labels. */
  function labelOf(client: string | undefined): string {
    if (client === undefined) return 'none';
    if (clients.size < MAX_CLIENTS) clients.add(client);
    return clients.has(client) ? client : 'other';
  }

  function describe({ schema, document, operationName }: ExecutionArgs): Observed | undefined {
    const operation = getOperationAST(document, operationName);
    if (!operation) return undefined;
    let observed = known.get(operation);
    if (!observed) known.set(operation, (observed = observedOf(schema, document, operation)));
    return observed;
  }

  const inSpan = (open: Tracing, options: SpanOptions, run: () => Promise<ExecutionResult>) =>
    open.span(options, async (span) => {
      const result = await run();
      if (result.errors?.some((error) => codeOf(error) === 'INTERNAL')) span?.fail('INTERNAL');
      return result;
    });

  return async (
    args: ExecutionArgs,
    client: string | undefined,
    run: () => Promise<ExecutionResult>,
  ): Promise<ExecutionResult> => {
    const observed = describe(args);
    if (!observed) return run();
    const result = await (tracing ? inSpan(tracing, observed.span, run) : run());
    for (const { key, field } of observed.fields) metrics.fields.inc({ field, outcome: outcomeOf(result, key) });
    for (const field of observed.deprecated) metrics.deprecatedFields.inc({ field, client: labelOf(client) });
    return result;
  };
}

function observedOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Observed {
  const type = operation.operation;
  const root = type.charAt(0).toUpperCase() + type.slice(1);
  const rootFields = rootFieldsOf(document, operation);
  const fields = Array.from(rootFields, ([key, name]) => ({ key, field: `${root}.${name}` }));
  const names = [...new Set(rootFields.values())];
  const name = `${type} ${names.slice(0, MAX_NAMED).join(',')}`;
  const given = operation.name && { 'graphql.operation.name': operation.name.value };
  return {
    span: { name, kind: 'internal', attributes: { 'graphql.operation.type': type, ...given } },
    fields,
    deprecated: deprecatedFieldsIn(schema, document),
  };
}

/** `ok`, or the code of the first error below the field or of the whole request. */
function outcomeOf({ errors }: ExecutionResult, key: string): string {
  const error = errors?.find(({ path }) => path === undefined || path[0] === key);
  return error ? codeOf(error) : 'ok';
}

const codeOf = ({ extensions }: { readonly extensions: Readonly<Record<string, unknown>> }): string =>
  typeof extensions['code'] === 'string' ? extensions['code'] : 'INVALID_INPUT';
