import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  isAbstractType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

type Object = Readonly<Record<string, unknown>>;

/** What the recorded agents call their subagents. */
const SUBAGENT = /^t(?:ool|ask)$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const IS_SCALAR: Readonly<Record<string, (value: unknown) => boolean>> = {
  Int: (value) => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31,
  Float: (value) => typeof value === 'number',
  Boolean: (value) => typeof value === 'boolean',
  String: (value) => typeof value === 'string',
  ID: (value) => typeof value === 'string' && value !== '',
  DateTime: (value) => typeof value === 'string' && new Date(value).toISOString() === value,
  Date: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  UUID: (value) => typeof value === 'string' && UUID.test(value),
  DatabaseId: (value) =>
    typeof value === 'string'
      ? UUID.test(value) || SUBAGENT.test(value)
      : Number.isSafeInteger(value) && Number(value) >= 1,
  URL: (value) => typeof value === 'string' && URL.canParse(value),
  BigInt: (value) => typeof value === 'string' && /^-?\d+$/.test(value),
  JSON: (value) => value !== undefined,
};

/**
 * The deviations of `data` from the schema and the operation: null in a non-null field, a value of another type, a missing or an additional
 * field. Every composite selection must select `__typename`. `reached` collects the answered fields as `Type.field`.
 */
export function faultsOfData(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: Object,
  data: Object,
  reached: Set<string>,
): string[] {
  const operation = document.definitions.find(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const root = operation && schema.getRootType(operation.operation);
  if (!operation || !root) return ['there is no operation'];
  return new Reader(schema, document, variables, reached).object(root, [operation.selectionSet], data, '');
}

class Reader {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Object;
  readonly #reached: Set<string>;

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Object, reached: Set<string>) {
    this.#schema = schema;
    this.#variables = variables;
    this.#reached = reached;
    this.#fragments = new Map(
      document.definitions.flatMap((definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition] as const] : [],
      ),
    );
  }

  object(type: GraphQLObjectType, sets: readonly SelectionSetNode[], value: Object, path: string): string[] {
    const fields = new Map<string, FieldNode[]>();
    for (const set of sets) this.#collect(type, set, fields);
    const strange = Object.keys(value).filter((name) => !fields.has(name));
    const faults = strange.map((name) => `${path}.${name} was not asked for`);
    for (const [name, nodes] of fields) {
      const at = `${path}.${name}`;
      const fieldName = nodes[0]?.name.value ?? '';
      const answered = value[name];
      if (fieldName === '__typename') {
        if (answered !== type.name) faults.push(`${at} is ${String(answered)}, not ${type.name}`);
        continue;
      }
      const field = type.getFields()[fieldName];
      if (!field || answered === undefined) {
        faults.push(`${at} is missing`);
        continue;
      }
      this.#reached.add(`${type.name}.${fieldName}`);
      faults.push(...this.#value(field.type, nodes, answered, at));
    }
    return faults;
  }

  #value(type: GraphQLOutputType, nodes: readonly FieldNode[], value: unknown, path: string): string[] {
    if (isNonNullType(type)) return value === null ? [`${path} is null`] : this.#value(type.ofType, nodes, value, path);
    if (value === null) return [];
    if (isListType(type)) {
      if (!Array.isArray(value)) return [`${path} is not a list`];
      return value.flatMap((item: unknown, index) => this.#value(type.ofType, nodes, item, `${path}[${index}]`));
    }
    if (isEnumType(type))
      return typeof value === 'string' && type.getValue(value)
        ? []
        : [`${path} is ${JSON.stringify(value)}, which is not a value of ${type.name}`];
    if (!isObjectType(type) && !isAbstractType(type)) {
      const fits = IS_SCALAR[type.name]?.(value);
      return fits ? [] : [`${path} is ${JSON.stringify(value)}, which is not a ${type.name}`];
    }
    const inner = value as Object;
    const concrete = isObjectType(type) ? type : this.#schema.getType(String(inner['__typename']));
    if (!isObjectType(concrete) || (isAbstractType(type) && !this.#schema.isSubType(type, concrete)))
      return [`${path} is a ${String(inner['__typename'])}, which is not a ${type.name}`];
    return this.object(
      concrete,
      nodes.flatMap(({ selectionSet }) => selectionSet ?? []),
      inner,
      path,
    );
  }

  #collect(type: GraphQLObjectType, set: SelectionSetNode, fields: Map<string, FieldNode[]>): void {
    for (const selection of set.selections) {
      const isSkipped = selection.directives?.some(({ name, arguments: [argument] = [] }) => {
        const condition = argument && this.#condition(argument.value);
        return name.value === 'skip' ? condition === true : name.value === 'include' && condition === false;
      });
      if (isSkipped) continue;
      if (selection.kind === Kind.FIELD) {
        const name = (selection.alias ?? selection.name).value;
        fields.set(name, [...(fields.get(name) ?? []), selection]);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
      const condition = fragment?.typeCondition && this.#schema.getType(fragment.typeCondition.name.value);
      const applies =
        !condition || condition === type || (isAbstractType(condition) && this.#schema.isSubType(condition, type));
      if (fragment && applies) this.#collect(type, fragment.selectionSet, fields);
    }
  }

  #condition(value: ValueNode): boolean {
    return value.kind === Kind.VARIABLE
      ? this.#variables[value.name.value] === true
      : value.kind === Kind.BOOLEAN && value.value;
  }
}
