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
  /** `query session`, `mutation createSession,updateSession`: few in number, as those who ask choose among the schema's fields. */
  readonly name: string;
  readonly type: string;
  /** `Query.session` for each key of the answer. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Fields beyond these are left out of a span's name. */
const MAX_NAMED = 5;

/** Runs operations as spans, and counts the fields of `Query` and `Mutation` that they ask for. What is known of a document lives as long as it. */
export function createGraphQLObserver({ metrics, tracing }: Observers) {
  const known = new WeakMap<OperationDefinitionNode, Observed>();

  function describe({ document, operationName }: ExecutionArgs): Observed | undefined {
    const operation = getOperationAST(document, operationName);
    if (!operation) return undefined;
    let observed = known.get(operation);
    if (!observed) known.set(operation, (observed = observedOf(document, operation)));
    return observed;
  }

  return async (args: ExecutionArgs, run: () => Promise<ExecutionResult>): Promise<ExecutionResult> => {
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

/** `ok`, or the code of the first error beneath the key, or of the whole. */
function outcomeOf({ errors = [] }: ExecutionResult, key: string): string {
  const error = errors.find(({ path }) => path === undefined || path[0] === key);
  return error ? codeOf(error) : 'ok';
}

function codeOf({ extensions }: { readonly extensions: Readonly<Record<string, unknown>> }): string {
  return typeof extensions['code'] === 'string' ? extensions['code'] : 'INVALID_INPUT';
}
