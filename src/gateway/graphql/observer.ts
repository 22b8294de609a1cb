import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type OperationDefinitionNode,
  getOperationAST,
} from 'graphql';
import { traced } from '../../core/tracing/tracing.ts';
import type { Observers } from '../telemetry/observe.ts';
import { rootFieldsOf } from './root-fields.ts';

interface Observed {
  /** Name of the span, such as `query session` or `mutation createSession,updateSession`. It contains only names from the schema. */
  readonly name: string;
  readonly type: string;
  /** The schema field, such as `Query.session`, by response name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Maximum number of fields in the name of a span. */
const MAX_NAMED = 5;

/** Runs operations in spans and counts their fields of `Query` and `Mutation`. Data about a document is cached as long as the document. */
export function createGraphQLObserver({ metrics, tracing }: Observers) {
  const known = new WeakMap<OperationDefinitionNode, Observed>();

  function describe({ document, operationName }: ExecutionArgs): Observed | undefined {
    const operation = getOperationAST(document, operationName);
    if (!operation) return undefined;
    let observed = known.get(operation);
    if (!observed) known.set(operation, (observed = observedOf(document, operation)));
    return observed;
  }

  return (args: ExecutionArgs, run: () => Promise<ExecutionResult>): Promise<ExecutionResult> => {
    const observed = describe(args);
    if (!observed) return run();
    const { name, type, fields } = observed;
    const options = { name, kind: 'internal', attributes: { 'graphql.operation.type': type } } as const;
    return traced(tracing, options, async (span) => {
      const result = await run();
      if (result.errors?.some((error) => codeOf(error) === 'INTERNAL')) span?.fail('INTERNAL');
      for (const [key, field] of fields) metrics.fields.inc({ field, outcome: outcomeOf(result, key) });
      return result;
    });
  };
}

function observedOf(document: DocumentNode, operation: OperationDefinitionNode): Observed {
  const type = operation.operation;
  const root = type.charAt(0).toUpperCase() + type.slice(1);
  const rootFields = rootFieldsOf(document, operation);
  const fields = new Map(Array.from(rootFields, ([key, name]) => [key, `${root}.${name}`]));
  const names = [...new Set(rootFields.values())];
  return { name: `${type} ${names.slice(0, MAX_NAMED).join(',')}`, type, fields };
}

/** `ok`, or the code of the first error below the field or of the whole request. */
function outcomeOf({ errors = [] }: ExecutionResult, key: string): string {
  const error = errors.find(({ path }) => path === undefined || path[0] === key);
  return error ? codeOf(error) : 'ok';
}

function codeOf({ extensions }: { readonly extensions: Readonly<Record<string, unknown>> }): string {
  return typeof extensions['code'] === 'string' ? extensions['code'] : 'INVALID_INPUT';
}
