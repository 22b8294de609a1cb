import {
  type DocumentNode,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeNameMetaFieldDef,
  defaultTypeResolver,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import {
  type Complete,
  type CompiledOperation,
  type OperationCode,
  type ResolvedField,
  completeLeaf,
  giveUp,
  isObject,
  runOperation,
} from './compiled-operation.ts';
import { NotCompiled, type SelectedField, Selections } from './selections.ts';
import type { VariableValues } from './variables.ts';

/**
 * Compiles operations to JavaScript that makes their answer (GraphQL, section 6) where all goes well. Where it does not, be it that a
 * resolver fails, a value is missing or of another kind, or something turns up that is not foreseen here, it gives up, and graphql's own
 * executor has its turn: so nothing here words an error, and a null never spreads to its parent. What is left is short, and an object of the
 * answer is one literal: no closure, path or error location is made for a field.
 *
 * Undefined for operations that are not compiled: subscriptions, and what is too large or odd. What is compiled holds for the values of the
 * variables that `conditionsOf` names.
 */
export function compileOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: VariableValues,
): CompiledOperation | undefined {
  const type = schema.getRootType(operation.operation);
  if (!type || operation.operation === OperationTypeNode.SUBSCRIPTION) return undefined;
  const selections = new Selections(schema, document, variables);
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  try {
    const compiler = new Compiler(schema, selections);
    const code = compiler.compile(type, operation, isMutation);
    const { fragments } = selections;
    const statics = { schema, fragments, operation };
    return { run: (execution) => runOperation(code, { execution, statics, isMutation }), size: code.size };
  } catch (error) {
    // What is wrong with the operation, such as a condition that is null, the other executor says.
    if (error instanceof NotCompiled || error instanceof GraphQLError) return undefined;
    throw error;
  }
}

/** Code that completes a value (section 6.4.3), given code that reads it once. */
type CompletionOf = (value: string) => string;

/**
 * Writes the code: functions that refer to each other by name. In it `x` is the execution, `s` the object that a field stands in, `v` a
 * value, and `r` what is answered for it.
 */
class Compiler {
  readonly #schema: GraphQLSchema;
  readonly #selections: Selections;
  readonly #functions: string[] = [];
  readonly #resolved: ResolvedField[] = [];
  readonly #types: (GraphQLObjectType | GraphQLAbstractType)[] = [];
  readonly #leaves = new Map<GraphQLLeafType, Complete>();

  constructor(schema: GraphQLSchema, selections: Selections) {
    this.#schema = schema;
    this.#selections = selections;
  }

  compile(type: GraphQLObjectType, { selectionSet }: OperationDefinitionNode, isMutation: boolean): OperationCode {
    const fields = [...this.#selections.fieldsOf(type, [selectionSet])];
    const root = fields.map(([name, field]) => this.#rootField(type, name, field, isMutation));
    const leaves = [...this.#leaves.values()];
    const code = `'use strict';
const isPromise = (value) => typeof value === 'object' && value !== null && typeof value.then === 'function';
const required = (value) => (value === null ? giveUp() : value);
${this.#resolved.map((_, index) => `const resolve${index} = resolved[${index}].definition.resolve;`).join('\n')}
${leaves.map((_, index) => `const leaf${index} = leaves[${index}];`).join('\n')}
${this.#functions.join('\n')}
return { makeAnswer: () => ({ ${fields.map(([name]) => `${name}: null`).join(', ')} }), putFields: [${root.join(', ')}] };`;
    // Made of numbers, and of names of the schema and the language: letters, digits and underscores.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('resolved', 'leaves', 'types', 'resolveType', 'giveUp', 'isObject', code) as (
      ...given: unknown[]
    ) => Pick<OperationCode, 'makeAnswer' | 'putFields'>;
    return {
      ...make(this.#resolved, leaves, this.#types, defaultTypeResolver, giveUp, isObject),
      resolved: this.#resolved,
      size: code.length,
    };
  }

  #rootField(type: GraphQLObjectType, name: string, field: SelectedField, isMutation: boolean): string {
    if (field.definition === TypeNameMetaFieldDef) return `(x, r) => { r.${name} = "${type.name}"; }`;
    return `(x, r) => ${this.#resolvedField(type, name, field, isMutation)}(x.rootValue, x, r)`;
  }

  /** The name of a function that puts a resolved field of `s` into `r`. */
  #resolvedField(parentType: GraphQLObjectType, name: string, field: SelectedField, isSettled = false): string {
    if (!field.definition.resolve) throw new NotCompiled();
    const index = this.#resolved.push({ ...field, parentType }) - 1;
    const complete = this.#completion(field.definition.type, field, index);
    const call = `resolve${index}(s, x.args(${index}), x.context, x.info(${index}))`;
    return this.#function(
      'field',
      's, x, r',
      `const v = ${isSettled ? `x.settle("${name}", () => ${call})` : call};
  if (isPromise(v)) x.wait(v, (v) => { r.${name} = ${complete('v')}; });
  else r.${name} = ${complete('v')};`,
    );
  }

  /** `index` is that of the resolved field which the value comes from, be it through properties. */
  #completion(type: GraphQLOutputType, field: SelectedField, index: number): CompletionOf {
    if (isNonNullType(type)) {
      const complete = this.#completion(type.ofType, field, index);
      return (value) => `required(${complete(value)})`;
    }
    if (isLeafType(type)) {
      const name = this.#leaf(type);
      return (value) => `${name}(${value})`;
    }
    const name = isListType(type)
      ? this.#list(type.ofType, field, index)
      : isObjectType(type)
        ? this.#object(type, field, index)
        : this.#abstract(type, field, index);
    return (value) => `${name}(${value}, x)`;
  }

  #list(type: GraphQLOutputType, field: SelectedField, index: number): string {
    const complete = this.#completion(type, field, index);
    return this.#function(
      'list',
      'v, x',
      `if (v === null || v === undefined) return null;
  if (!Array.isArray(v)) return giveUp();
  const r = [];
  for (let i = 0; i < v.length; i += 1) r.push(${complete('v[i]')});
  return r;`,
    );
  }

  #object(type: GraphQLObjectType, { nodes }: SelectedField, index: number): string {
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const later: string[] = [];
    const properties = [...this.#selections.fieldsOf(type, sets)].map(([name, field]) => {
      const { definition } = field;
      if (definition === TypeNameMetaFieldDef) return `${name}: "${type.name}"`;
      if (!definition.resolve)
        return `${name}: ${this.#completion(definition.type, field, index)(`s.${definition.name}`)}`;
      later.push(`${this.#resolvedField(type, name, field)}(s, x, r);`);
      return `${name}: null`;
    });
    const isOther = type.isTypeOf && `${this.#type(type)}.isTypeOf(s, x.context, x.info(${index})) !== true`;
    return this.#function(
      'object',
      's, x',
      `if (s === null || s === undefined) return null;
  if (!isObject(s)${isOther ? ` || ${isOther}` : ''}) return giveUp();
  const r = { ${properties.join(', ')} };
  ${later.join('\n  ')}
  return r;`,
    );
  }

  #abstract(type: GraphQLAbstractType, field: SelectedField, index: number): string {
    const cases = this.#schema
      .getPossibleTypes(type)
      .map((possible) => `case "${possible.name}": return ${this.#object(possible, field, index)}(v, x);`);
    const given = this.#type(type);
    const resolveType = type.resolveType ? `${given}.resolveType` : 'resolveType';
    return this.#function(
      'abstract',
      'v, x',
      `if (v === null || v === undefined) return null;
  if (!isObject(v)) return giveUp();
  switch (${resolveType}(v, x.context, x.info(${index}), ${given})) {
    ${cases.join('\n    ')}
    default: return giveUp();
  }`,
    );
  }

  #type(type: GraphQLObjectType | GraphQLAbstractType): string {
    return `types[${this.#types.push(type) - 1}]`;
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
