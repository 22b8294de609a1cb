import {
  type DocumentNode,
  type GraphQLAbstractType,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeNameMetaFieldDef,
  defaultFieldResolver,
  defaultTypeResolver,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { type Complete, checkObject, checkValue, completeLeaf } from './leaves.ts';
import { NotCompiled, giveUp } from './outcome.ts';
import { type Execution, type InformedField, type Path, type QueryCode, type RunResult, runQuery } from './running.ts';
import { NO_ARGUMENTS, type SelectedField, Selections } from './selections.ts';
import type { VariableValues } from './variables.ts';

export interface CompiledQuery {
  readonly run: (execution: Execution) => RunResult | Promise<RunResult>;
  /** Size in characters of code. */
  readonly size: number;
}

/**
 * Compiles a query, or a mutation with one field, to JavaScript that produces its answer (GraphQL, section 6) as long
 * as there is no error and no unusual value. Otherwise the code gives up, so it neither creates errors nor propagates
 * nulls. An answer object is one literal, and a field needs no closure, path or error location. The code is valid for
 * the current values of the variables that `conditionsOf` names.
 * @throws NotCompiled for documents that are too large or not supported.
 */
export function compileQuery(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: VariableValues,
): CompiledQuery {
  const type = schema.getRootType(operation.operation);
  if (!type) throw new NotCompiled('invalid_request');
  const selections = new Selections(schema, document, variables);
  const { code, size } = new Compiler(schema, selections, operation).compile(type);
  const statics = { schema, fragments: selections.fragments, operation };
  return { run: (execution) => runQuery(code, execution, statics), size };
}

/** The code that completes a value (section 6.4.3), given the code that reads it once. */
type CompletionOf = (value: string) => string;

/** The origin of a value: a field with a resolver, or a property. */
interface Origin {
  readonly field: SelectedField;
  /** The path of the value; undefined below a list. */
  readonly path: Path | undefined;
  /** The index of the field among those that have an `info`. */
  readonly index: () => number;
}

/**
 * Generates the code: functions that call each other by name. In it `x` is the execution, `s` the parent object of a
 * field, `v` a value, and
 * `r` its result.
 */
class Compiler {
  readonly #schema: GraphQLSchema;
  readonly #selections: Selections;
  readonly #functions: string[] = [];
  readonly #fields: InformedField[] = [];
  readonly #types: (GraphQLObjectType | GraphQLAbstractType)[] = [];
  readonly #leaves = new Map<GraphQLLeafType, Complete>();
  readonly #nodes: SelectedField['nodes'][] = [];
  readonly #operation: OperationDefinitionNode;

  constructor(schema: GraphQLSchema, selections: Selections, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.#selections = selections;
    this.#operation = operation;
  }

  compile(type: GraphQLObjectType): { code: QueryCode; size: number } {
    const fields = this.#selections.fieldsOf(type, [this.#operation.selectionSet]);
    const selected = [...fields];
    // Several mutations are executed one after another (section 6.2.2).
    if (this.#isMutation() && selected.length > 1) throw new NotCompiled('mutation');
    const root = selected.map(([name, field]) => this.#rootField(type, name, field));
    const leaves = [...this.#leaves.values()];
    const resolvers = this.#fields.map(({ definition }) => definition.resolve ?? defaultFieldResolver);
    const text = `'use strict';
const isPromise = (value) => typeof value === 'object' && value !== null && typeof value.then === 'function';
const required = (value) => (value === null ? giveUp('null_value') : value);
const isTrue = (is, x) => is === true || (is !== false && typeof is?.then === 'function' ? x.untyped(is) : Boolean(is));
${resolvers.map((_, index) => `const resolve${index} = resolvers[${index}];`).join('\n')}
${leaves.map((_, index) => `const leaf${index} = leaves[${index}];`).join('\n')}
${this.#functions.join('\n')}
return { makeAnswer: () => ({ ${selected.map(([name]) => `${name}: null`).join(', ')} }), putFields: [${root.join(', ')}] };`;
    const given = {
      resolvers,
      leaves,
      types: this.#types,
      nodes: this.#nodes,
      defaultTypeResolver,
      giveUp,
      noArguments: NO_ARGUMENTS,
      checkObject,
      checkValue,
    };
    // The code contains no part of a request, only numbers and names of the schema and the language, which consist of letters, digits and
    // underscores.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('given', `const { ${Object.keys(given).join(', ')} } = given;\n${text}`) as (
      parts: typeof given,
    ) => Pick<QueryCode, 'makeAnswer' | 'putFields'>;
    const size = sizeOfNames(type, fields);
    return { code: { ...make(given), fields: this.#fields, size }, size: text.length };
  }

  #rootField(type: GraphQLObjectType, name: string, field: SelectedField): string {
    if (field.definition === TypeNameMetaFieldDef) return `(x, r) => { r.${name} = "${type.name}"; }`;
    const path = { prev: undefined, key: name, typename: type.name };
    return `(x, r) => ${this.#resolvedField(type, name, field, path)}(x.rootValue, x, r)`;
  }

  /** The name of a function that stores a resolved field of `s` in `r`. */
  #resolvedField(parentType: GraphQLObjectType, name: string, field: SelectedField, path: Path | undefined): string {
    const index = this.#fields.push({ ...field, parentType, path }) - 1;
    const complete = this.#completion(field.definition.type, { field, path, index: () => index });
    const isChange = this.#isMutation() && path !== undefined && path.prev === undefined;
    const args = field.definition.args.length > 0 ? `x.args(${index})` : 'noArguments';
    const resolved = isChange
      ? `x.change(${index}, resolve${index})`
      : `resolve${index}(s, ${args}, x.context, x.info(${index}))`;
    // No closure is created here: V8 would allocate the variables that it refers to at every call.
    const put = this.#function('put', 'v, x, r', `r.${name} = ${complete('v')};`);
    return this.#function(
      'field',
      's, x, r',
      `try {
    const v = ${resolved};
    if (isPromise(v)) x.wait(${index}, v, ${put}, r);
    else ${put}(v, x, r);
  } catch (error) {
    throw x.fail(${index}, error);
  }`,
    );
  }

  #isMutation(): boolean {
    return this.#operation.operation === OperationTypeNode.MUTATION;
  }

  #completion(type: GraphQLOutputType, origin: Origin): CompletionOf {
    if (isNonNullType(type)) {
      const complete = this.#completion(type.ofType, origin);
      return (value) => `required(${complete(value)})`;
    }
    if (isLeafType(type)) {
      const name = this.#leaf(type);
      return (value) => `${name}(${value}, x)`;
    }
    const name = isListType(type)
      ? this.#list(type.ofType, { ...origin, path: undefined })
      : isObjectType(type)
        ? this.#object(type, origin)
        : this.#abstract(type, origin);
    return (value) => `${name}(${value}, x)`;
  }

  #list(type: GraphQLOutputType, origin: Origin): string {
    const complete = this.#completion(type, origin);
    return this.#function(
      'list',
      'v, x',
      `if (v === null || v === undefined) return null;
  try {
    if (!Array.isArray(v)) return giveUp('not_an_array');
    x.size += 2 * v.length + 1;
    const r = [];
    for (let i = 0; i < v.length; i += 1) r.push(${complete('v[i]')});
    return r;
  } catch (error) {
    throw x.drop(v, ${this.#nodesOf(origin)}, error);
  }`,
    );
  }

  #object(type: GraphQLObjectType, origin: Origin): string {
    const sets = origin.field.nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const resolved: string[] = [];
    let hasProperties = false;
    const fields = this.#selections.fieldsOf(type, sets);
    const literal = [...fields].map(([name, field]) => {
      const { definition } = field;
      if (definition === TypeNameMetaFieldDef) return `${name}: "${type.name}"`;
      const path = origin.path && { prev: origin.path, key: name, typename: type.name };
      if (definition.resolve) {
        resolved.push(`${this.#resolvedField(type, name, field, path)}(s, x, r);`);
        return `${name}: null`;
      }
      hasProperties = true;
      const index = onceMade(() => this.#fields.push({ ...field, parentType: type, path }) - 1);
      return `${name}: ${this.#completion(definition.type, { field, path, index })(`s.${definition.name}`)}`;
    });
    const isType = type.isTypeOf
      ? `if (!isTrue(${this.#type(type)}.isTypeOf(s, x.context, x.info(${origin.index()})), x)) giveUp('unresolved_type');`
      : '';
    return this.#function(
      'object',
      's, x',
      `if (s === null || s === undefined) return null;
  try {
    ${hasProperties ? 'checkObject' : 'checkValue'}(s);
    ${isType}
    x.size += ${sizeOfNames(type, fields)};
    const r = { ${literal.join(', ')} };
    ${resolved.join('\n    ')}
    return r;
  } catch (error) {
    throw x.drop(s, ${this.#nodesOf(origin)}, error);
  }`,
    );
  }

  #abstract(type: GraphQLAbstractType, origin: Origin): string {
    const cases = this.#schema
      .getPossibleTypes(type)
      .map((possible) => `case "${possible.name}": return ${this.#object(possible, origin)}(v, x);`);
    const given = this.#type(type);
    const resolveType = type.resolveType ? `${given}.resolveType` : 'defaultTypeResolver';
    return this.#function(
      'abstract',
      'v, x',
      `if (v === null || v === undefined) return null;
  try {
    checkValue(v);
    const t = ${resolveType}(v, x.context, x.info(${origin.index()}), ${given});
    switch (t) {
      ${cases.join('\n      ')}
      default: return x.untyped(t);
    }
  } catch (error) {
    throw x.drop(v, ${this.#nodesOf(origin)}, error);
  }`,
    );
  }

  #type(type: GraphQLObjectType | GraphQLAbstractType): string {
    return `types[${this.#types.push(type) - 1}]`;
  }

  #nodesOf({ field }: Origin): string {
    const known = this.#nodes.indexOf(field.nodes);
    return `nodes[${known < 0 ? this.#nodes.push(field.nodes) - 1 : known}]`;
  }

  #leaf(type: GraphQLLeafType): string {
    if (!this.#leaves.has(type)) this.#leaves.set(type, completeLeaf(type));
    return `leaf${[...this.#leaves.keys()].indexOf(type)}`;
  }

  #function(kind: string, parameters: string, body: string): string {
    const name = `${kind}${this.#functions.length}`;
    this.#functions.push(`function ${name}(${parameters}) {\n  ${body}\n}`);
    return name;
  }
}

/** Length of an object as JSON without the values of its fields: five characters are added to each name, as in `"name":0,`. */
function sizeOfNames(type: GraphQLObjectType, fields: ReadonlyMap<string, SelectedField>): number {
  let size = 0;
  for (const [name, { definition }] of fields)
    size += name.length + 5 + (definition === TypeNameMetaFieldDef ? type.name.length + 2 : 0);
  return size;
}

function onceMade(make: () => number): () => number {
  let made: number | undefined;
  return () => (made ??= make());
}
