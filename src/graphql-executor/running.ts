import type { FieldNode, GraphQLFieldResolver, GraphQLObjectType, GraphQLResolveInfo } from 'graphql';
import { type GaveUpReason, GivenUp, giveUp } from './outcome.ts';
import type { Outcome } from './replay.ts';
import { type Arguments, type SelectedField, argumentsOf, sharedArgumentsOf } from './selections.ts';
import { silence } from './unread-rejections.ts';
import type { VariableValues } from './variables.ts';

/** The state of compiled code: one execution of a query, and the promises that it waits for. */

export type Answer = Record<string, unknown>;

/** The input of one execution. */
export interface Execution {
  /** Returns the length as JSON of an object that a custom scalar serializes to. */
  readonly sizeOf: (value: object) => number;
  readonly rootValue: unknown;
  readonly context: unknown;
  readonly variables: VariableValues;
}

export type Path = GraphQLResolveInfo['path'];

/** A field whose resolver or type function receives an `info`. */
export interface InformedField extends SelectedField {
  readonly parentType: GraphQLObjectType;
  /** Its path in the answer; undefined below a list, where it has several. */
  readonly path: Path | undefined;
}

export interface QueryCode {
  /** Creates an answer with its fields in order. */
  readonly makeAnswer: () => Answer;
  /** For each root field, the function that stores its result. */
  readonly putFields: readonly ((running: Running, answer: Answer) => void)[];
  readonly fields: readonly InformedField[];
  /** Length of the root object as JSON without the values of its fields. */
  readonly size: number;
}

export interface GaveUp {
  readonly reason: GaveUpReason;
  /** `Query.session` */
  readonly field: string;
  /** Of the resolver of a mutation, if it was called. */
  readonly outcome: Outcome | undefined;
}

export type RunResult = { readonly data: Answer; readonly size: number } | { readonly gaveUp: GaveUp };

/** Refuses every use of a path. All paths share it, so that they die young (docs/decisions/short-lived-objects.md). */
const REFUSED_PATH: ProxyHandler<Path & { readonly refuse: () => never }> = {
  get: ({ refuse }) => refuse(),
  has: ({ refuse }) => refuse(),
  ownKeys: ({ refuse }) => refuse(),
  getOwnPropertyDescriptor: ({ refuse }) => refuse(),
};

/** A promise whose value comes together with others, which have the same `arrived`: the execution waits for it once. */
interface Batched {
  readonly arrived: Promise<unknown>;
  /** @throws what the promise rejects with. */
  readonly valueIn: (arrived: unknown) => unknown;
}

interface Waiting {
  readonly index: number;
  readonly value: Batched;
  readonly put: Put;
  readonly answer: Answer;
}

/** Stores the value of a field in its object. */
type Put = (value: unknown, running: Running, answer: Answer) => void;

const isBatched = (value: object): value is Batched => (value as Partial<Batched>).arrived instanceof Promise;

export type Statics = Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'operation'>;

export const runQuery = (code: QueryCode, execution: Execution, statics: Statics): RunResult | Promise<RunResult> =>
  new Running(code.fields, execution, statics).run(code);

/** One execution, as compiled code uses it. Fields are identified by their index. */
export class Running {
  readonly rootValue: unknown;
  readonly context: unknown;
  /** Approximate length of the data so far as JSON. */
  size = 0;
  readonly sizeOf: Execution['sizeOf'];
  readonly #variables: VariableValues;
  readonly #fields: readonly InformedField[];
  readonly #statics: Statics;
  readonly #arguments: Arguments[] = [];
  readonly #infos: GraphQLResolveInfo[] = [];
  #open = 0;
  readonly #waiting = new Map<Promise<unknown>, Waiting[]>();
  #end: (() => void) | undefined;
  #gaveUp: Omit<GaveUp, 'outcome'> | undefined;
  #outcome: Outcome | undefined;
  #abort: AbortController | undefined;

  constructor(
    fields: readonly InformedField[],
    { rootValue, context, variables, sizeOf }: Execution,
    statics: Statics,
  ) {
    this.rootValue = rootValue;
    this.context = context;
    this.sizeOf = sizeOf;
    this.#variables = variables;
    this.#fields = fields;
    this.#statics = statics;
  }

  run({ makeAnswer, putFields, size }: QueryCode): RunResult | Promise<RunResult> {
    const data = makeAnswer();
    this.size = size;
    const resultOf = (): RunResult => {
      this.#abort?.abort();
      return this.#gaveUp ? { gaveUp: { ...this.#gaveUp, outcome: this.#outcome } } : { data, size: this.size };
    };
    try {
      for (const putField of putFields) putField(this, data);
    } catch {
      // `fail` has recorded the error where it was thrown.
      return resultOf();
    }
    if (this.#open === 0 || this.#gaveUp) return resultOf();
    return new Promise((resolve) => {
      // Named first, because V8 allocates a function expression that is assigned to a property as an old object.
      const end = () => resolve(resultOf());
      this.#end = end;
    });
  }

  /** Calls the resolver of a mutation, and records its outcome, because it must not be called again. */
  change(index: number, resolve: GraphQLFieldResolver<unknown, unknown>): unknown {
    const info = this.info(index);
    const args = this.#valid(argumentsOf, index);
    try {
      const value = resolve(this.rootValue, args, this.context, info);
      this.#outcome = { value };
      return value;
    } catch (error) {
      this.#outcome = { error };
      throw error;
    }
  }

  /** The arguments of a field, shared by all of its objects. */
  args(index: number): object {
    return (this.#arguments[index] ??= this.#valid(sharedArgumentsOf, index));
  }

  #valid(read: typeof argumentsOf, index: number): Arguments {
    try {
      return read(this.#field(index), this.#variables);
    } catch {
      return giveUp('invalid_arguments');
    }
  }

  #field(index: number): InformedField {
    const field = this.#fields[index];
    if (!field) throw new RangeError('compiled code names a field that does not exist');
    return field;
  }

  /** The `info` of a field, shared by all of its objects. */
  info(index: number): GraphQLResolveInfo {
    return (this.#infos[index] ??= this.#infoOf(index, this.#field(index)));
  }

  #infoOf(index: number, { definition, nodes, parentType, path }: InformedField): GraphQLResolveInfo {
    const { schema, fragments, operation } = this.#statics;
    // Written in full, because V8 takes three times as long to create the object from parts.
    return {
      schema,
      fragments,
      operation,
      fieldName: definition.name,
      fieldNodes: nodes,
      returnType: definition.type,
      parentType,
      rootValue: this.rootValue,
      variableValues: this.#variables,
      path: path ?? this.#refusedPath(index),
      getAbortSignal: this.#getAbortSignal,
      getAsyncHelpers: this.#getAsyncHelpers,
    };
  }

  readonly #getAbortSignal = () => (this.#abort ??= new AbortController()).signal;

  readonly #getAsyncHelpers = () => ({ promiseAll: this.#promiseAll, track: this.#track });

  /** The path of a field below a list, where it has several. */
  #refusedPath(index: number): Path {
    const refuse = () => this.#refusePath(index);
    return new Proxy({ prev: undefined, key: '', typename: undefined, refuse }, REFUSED_PATH);
  }

  /** Recorded at once, because the resolver may catch the error. */
  #refusePath(index: number): never {
    this.fail(index, new GivenUp('path'));
    return giveUp('path');
  }

  readonly #promiseAll = <Value>(values: readonly (PromiseLike<Value> | Value)[]): Promise<Value[]> => {
    const all = Promise.all(values);
    all.catch(() => this.#track(values));
    return all;
  };

  readonly #track = (values: readonly unknown[]): void => {
    for (const value of values) silence(value, [], this.#statics.fragments);
  };

  /** Stores a value when its promise is fulfilled. */
  wait(index: number, value: PromiseLike<unknown>, put: Put, answer: Answer): void {
    if (isBatched(value)) {
      const { arrived } = value;
      const waiting = this.#waiting.get(arrived);
      if (waiting) waiting.push({ index, value, put, answer });
      else {
        this.#waiting.set(arrived, [{ index, value, put, answer }]);
        this.#settle(index, arrived, (came) => this.#putAll(arrived, came));
      }
      return;
    }
    const promise = value instanceof Promise ? value : Promise.resolve(value);
    this.#settle(index, promise, (came) => this.#put(index, came, put, answer));
  }

  #settle(index: number, promise: Promise<unknown>, use: (came: unknown) => void): void {
    this.#open += 1;
    promise.then(
      (came: unknown) => {
        use(came);
        this.#open -= 1;
        if (this.#open === 0 || this.#gaveUp) this.#end?.();
      },
      (error: unknown) => {
        this.fail(index, error);
        this.#end?.();
      },
    );
  }

  #putAll(arrived: Promise<unknown>, came: unknown): void {
    const waiting = this.#waiting.get(arrived) ?? [];
    this.#waiting.delete(arrived);
    for (const { index, value, put, answer } of waiting) {
      try {
        this.#put(index, value.valueIn(came), put, answer);
      } catch (error) {
        this.fail(index, error);
      }
    }
  }

  #put(index: number, came: unknown, put: Put, answer: Answer): void {
    try {
      if (this.#gaveUp) silence(came, this.#field(index).nodes, this.#statics.fragments);
      else put(came, this, answer);
    } catch (error) {
      this.fail(index, error);
    }
  }

  /** Records why the execution ends. @returns the error, to be rethrown. */
  fail(index: number, error: unknown): unknown {
    const { parentType, definition } = this.#field(index);
    const reason = error instanceof GivenUp ? error.reason : 'threw';
    this.#gaveUp ??= { reason, field: `${parentType.name}.${definition.name}` };
    return error;
  }

  /** Handles promises in a value that was only partially read. @returns the error, to be rethrown. */
  drop(value: unknown, nodes: readonly FieldNode[], error: unknown): unknown {
    silence(value, nodes, this.#statics.fragments);
    return error;
  }

  /** Gives up on a type that is a promise or not one of the possible types. */
  untyped(found: unknown): never {
    this.#track([found]);
    return giveUp('unresolved_type');
  }
}
