import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  GraphQLString,
  getArgumentValues,
  isEnumType,
} from 'graphql';
import type { SelectedField } from './selections.ts';
import type { VariableValues } from './variables.ts';

/** What compiled code runs with: one execution of an operation, the values that it waits for, and the leaves of its answer. */

type Answer = Record<string, unknown>;

export interface CompiledOperation {
  /** Makes `data`. Thrown, or rejected, for whatever reason: ask the other executor. */
  readonly run: (execution: Execution) => Promise<Answer> | Answer;
  /** Characters of code. */
  readonly size: number;
}

/** What one execution is given, and what it has of its own. */
export interface Execution {
  readonly rootValue: unknown;
  readonly context: unknown;
  readonly variables: VariableValues;
  /** What the fields of a mutation have come to, by response name: they must not run twice. */
  readonly settled: Map<string, Promise<unknown>>;
}

/** A field of the answer that has a resolver. */
export interface ResolvedField extends SelectedField {
  readonly parentType: GraphQLObjectType;
}

export interface OperationCode {
  /** An answer with room for its fields, in their order. */
  readonly makeAnswer: () => Answer;
  /** For each field of the root, what puts it in its place. */
  readonly putFields: readonly ((running: Running, answer: Answer) => void)[];
  readonly resolved: readonly ResolvedField[];
  /** Characters. */
  readonly size: number;
}

interface RunOptions {
  readonly execution: Execution;
  readonly statics: Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'operation'>;
  readonly isMutation: boolean;
}

/** The fields of a mutation run one after the other (GraphQL, section 6.2.2), those of a query at once. */
export function runOperation(code: OperationCode, options: RunOptions): Promise<Answer> | Answer {
  const running = new Running(code.resolved, options);
  return options.isMutation ? runInTurn(code, running) : runAtOnce(code, running);
}

async function runInTurn({ makeAnswer, putFields }: OperationCode, running: Running): Promise<Answer> {
  const answer = makeAnswer();
  for (const putField of putFields) {
    putField(running, answer);
    await running.ended();
  }
  return answer;
}

function runAtOnce({ makeAnswer, putFields }: OperationCode, running: Running): Promise<Answer> | Answer {
  const answer = makeAnswer();
  for (const putField of putFields) putField(running, answer);
  return running.ended()?.then(() => answer) ?? answer;
}

/** One execution, as the compiled code sees it. Fields are known by their index among those with resolvers. */
class Running {
  readonly rootValue: unknown;
  readonly context: unknown;
  readonly #execution: Execution;
  readonly #fields: readonly ResolvedField[];
  readonly #statics: RunOptions['statics'];
  readonly #args: object[] = [];
  readonly #infos: GraphQLResolveInfo[] = [];
  #open = 0;
  #ended: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(fields: readonly ResolvedField[], { execution, statics }: RunOptions) {
    this.rootValue = execution.rootValue;
    this.context = execution.context;
    this.#execution = execution;
    this.#fields = fields;
    this.#statics = statics;
  }

  /** The arguments of a field; the same for all objects that it stands in. */
  args(index: number): object {
    return (this.#args[index] ??= this.#argsOf(this.#fields[index] ?? giveUp()));
  }

  #argsOf({ definition, nodes: [node] }: ResolvedField): object {
    return getArgumentValues(definition, node ?? giveUp(), this.#execution.variables);
  }

  /** Likewise: where in the answer the object is, it does not say. */
  info(index: number): GraphQLResolveInfo {
    return (this.#infos[index] ??= this.#infoOf(this.#fields[index] ?? giveUp()));
  }

  #infoOf({ definition, nodes, parentType }: ResolvedField): GraphQLResolveInfo {
    return {
      ...this.#statics,
      fieldName: definition.name,
      fieldNodes: nodes,
      returnType: definition.type,
      parentType,
      rootValue: this.rootValue,
      variableValues: this.#execution.variables,
      get path() {
        return giveUp();
      },
      getAbortSignal: () => undefined,
      getAsyncHelpers: giveUp,
    };
  }

  /** Has a value put in its place once it is there. */
  wait(value: PromiseLike<unknown>, put: (value: unknown) => void): void {
    this.#open += 1;
    value.then((came) => {
      try {
        put(came);
        this.#open -= 1;
        if (this.#open === 0) this.#ended?.resolve();
      } catch (error) {
        this.#fail(error);
      }
    }, this.#fail);
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= { error };
    this.#ended?.reject(error);
  };

  /** Until all is in its place; undefined when it is already. */
  ended(): Promise<void> | undefined {
    if (this.#failure) throw this.#failure.error;
    if (this.#open === 0) return undefined;
    return new Promise<void>((resolve, reject) => (this.#ended = { resolve, reject }));
  }

  /** Runs a field of a mutation, and keeps what comes of it. */
  settle(name: string, resolve: () => unknown): Promise<unknown> {
    const outcome = (async () => resolve())();
    this.#execution.settled.set(name, outcome);
    return outcome;
  }
}

// Made once, since its stack would cost more than all else; nobody is told.
const GIVEN_UP = new GraphQLError('given up');

/** Ends the execution, so that the other executor has its turn. */
export function giveUp(): never {
  throw GIVEN_UP;
}

/** Whether a value can be read like an object: errors are for the other executor, and so are promises where none is waited for. */
export function isObject(value: object): boolean {
  return (
    typeof value === 'object' && !(value instanceof Error) && !('then' in value && typeof value.then === 'function')
  );
}

/** Makes what is answered for a value; null for none. */
export type Complete = (value: unknown) => unknown;

/** Most values are what they are to be already. */
export function completeLeaf(type: GraphQLLeafType): Complete {
  const convert = (value: unknown) => {
    if (value === null || value === undefined) return null;
    // What would be called, or waited for.
    if (typeof value === 'function' || value instanceof Error || value instanceof Promise) return giveUp();
    return type.coerceOutputValue(value) ?? giveUp();
  };
  if (type === GraphQLString || type === GraphQLID)
    return (value) => (typeof value === 'string' ? value : convert(value));
  if (type === GraphQLBoolean) return (value) => (typeof value === 'boolean' ? value : convert(value));
  if (type === GraphQLInt)
    return (value) => (typeof value === 'number' && (value | 0) === value ? value : convert(value));
  if (type === GraphQLFloat) return (value) => (Number.isFinite(value) ? value : convert(value));
  if (!isEnumType(type)) return convert;
  const names = new Map(type.getValues().map(({ name, value }) => [value as unknown, name]));
  return (value) => names.get(value) ?? convert(value);
}
