import fc, { type GeneratorValue } from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationTypeNode,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isLeafType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { type Pools, Values, literalOf } from './graphql-values.ts';

export interface GeneratedOperation {
  readonly kind: OperationTypeNode;
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

const MAX_DEPTH = 9;
/** Maximum number of fields in an operation, which keeps it within the limits of tokens and aliases. */
const MAX_FIELDS = 60;

/** The response names of a selection: another field with the same name gets an alias. */
type Scope = Set<string>;

/**
 * Generates a valid operation over the whole schema: random selections, fragments, aliases, directives, variables and literals. Fields that
 * are not in `reached` are preferred.
 */
export function generateOperation(
  g: GeneratorValue,
  schema: GraphQLSchema,
  kind: GeneratedOperation['kind'],
  root: string,
  pools: Pools,
  reached: ReadonlySet<string>,
): GeneratedOperation {
  const type = schema.getRootType(kind);
  const field = type?.getFields()[root];
  if (!type || !field) throw new Error(`the schema has no ${kind} ${root}`);
  return new Maker(g, schema, pools, reached).make(kind, type, field);
}

class Maker {
  readonly #values: Values;
  readonly #schema: GraphQLSchema;
  readonly #reached: ReadonlySet<string>;
  readonly #variables = new Map<string, { type: string; value: unknown; isGiven: boolean; fallback?: string }>();
  readonly #fragments: string[] = [];
  #fields = 0;
  #aliases = 0;

  constructor(g: GeneratorValue, schema: GraphQLSchema, pools: Pools, reached: ReadonlySet<string>) {
    this.#values = new Values(g, pools);
    this.#reached = reached;
    this.#schema = schema;
  }

  make(
    kind: GeneratedOperation['kind'],
    type: GraphQLObjectType,
    root: GraphQLField<unknown, unknown>,
  ): GeneratedOperation {
    const scope: Scope = new Set();
    // The single field of a subscription cannot have a condition.
    const selections = [this.#field(root, 0, scope, kind !== 'subscription')];
    // A subscription has one root field; the others may have more.
    while (kind !== 'subscription' && this.#values.chance(4) && this.#fields < MAX_FIELDS / 2)
      selections.push(this.#field(kind === 'mutation' ? root : this.#values.pick(fieldsOf(type)), 0, scope));
    if (kind === 'query' && this.#values.chance(6)) selections.push('__typename');
    const declared = [...this.#variables].map(
      ([name, { type: given, fallback }]) => `$${name}: ${given}${fallback === undefined ? '' : ` = ${fallback}`}`,
    );
    const head = declared.length > 0 ? `${kind} Generated(${declared.join(', ')})` : kind;
    const variables = [...this.#variables]
      .filter(([, { isGiven }]) => isGiven)
      .map(([name, { value }]) => [name, value]);
    return {
      kind,
      query: [`${head} {\n${selections.join('\n')}\n}`, ...this.#fragments].join('\n'),
      variables: Object.fromEntries(variables) as Record<string, unknown>,
    };
  }

  #field(field: GraphQLField<unknown, unknown>, depth: number, scope: Scope, mayBeSkipped = true): string {
    this.#fields += 1;
    const type = getNamedType(field.type);
    const given = field.args.flatMap((arg) => this.#argument(arg, field.name));
    const args = given.length > 0 ? `(${given.join(', ')})` : '';
    const selection = isLeafType(type) ? '' : ` ${this.#selection(type, depth + 1, new Set())}`;
    return `${this.#responseName(field.name, scope)}${args}${mayBeSkipped ? this.#directive() : ''}${selection}`;
  }

  /** `name`, or an alias if the name is taken. Sometimes an alias is used although the name is free. */
  #responseName(name: string, scope: Scope): string {
    if (!scope.has(name) && !this.#values.chance(10)) {
      scope.add(name);
      return name;
    }
    this.#aliases += 1;
    return `a${this.#aliases}: ${name}`;
  }

  #argument(arg: GraphQLArgument, field: string): string[] {
    const isRequired = isNonNullType(arg.type) && arg.defaultValue === undefined && arg.default === undefined;
    // Pages are nearly always small, so that the cost limit allows more fields below them.
    const isPage = arg.name === 'first';
    const isKept = isPage ? !this.#values.chance(6) : this.#values.chance(this.#values.isTame ? 12 : 4);
    if (!isRequired && !isKept) return [];
    const isNull = !isNonNullType(arg.type) && !isPage && this.#values.chance(10);
    const value = isNull ? null : this.#values.of(arg.type, arg.name, field);
    const text = literalOf(value);
    // Long values are passed as variables, because the text of a query is limited.
    const literal = text !== undefined && text.length > 1000 ? undefined : text;
    if (literal !== undefined && this.#values.chance(2)) return [`${arg.name}: ${literal}`];
    const name = `v${this.#variables.size}`;
    const isOptional = !isNonNullType(arg.type);
    const fallback = isOptional && literal !== undefined && this.#values.chance(6) ? literal : undefined;
    const isGiven = !isOptional || !this.#values.chance(6);
    this.#variables.set(name, { type: String(arg.type), value, isGiven, ...(fallback !== undefined && { fallback }) });
    return [`${arg.name}: $${name}`];
  }

  #directive(): string {
    if (!this.#values.chance(25)) return '';
    const condition = this.#values.chance(2);
    const name = this.#values.pick(['skip', 'include']);
    if (this.#values.chance(2)) return ` @${name}(if: ${condition})`;
    const variable = `v${this.#variables.size}`;
    this.#variables.set(variable, { type: 'Boolean!', value: condition, isGiven: true });
    return ` @${name}(if: $${variable})`;
  }

  #selection(type: GraphQLNamedType, depth: number, scope: Scope): string {
    return `{\n${this.#selections(type, depth, scope).join('\n')}\n}`;
  }

  #selections(type: GraphQLNamedType, depth: number, scope: Scope): string[] {
    const selections = scope.has('__typename') ? [] : ['__typename'];
    scope.add('__typename');
    if (isObjectType(type) || isInterfaceType(type)) {
      const fields = fieldsOf(type).filter((field) => isLeafType(getNamedType(field.type)) || depth < MAX_DEPTH);
      const isWide = this.#values.chance(3);
      // Starts at a random field, so that fields at the end are also selected before the operation is full.
      const first = this.#values.g(fc.nat, { max: Math.max(0, fields.length - 1) });
      for (const field of [...fields.slice(first), ...fields.slice(0, first)]) {
        const isNew = isObjectType(type) && !this.#reached.has(`${type.name}.${field.name}`);
        const isEasy = isWide || isLeafType(getNamedType(field.type));
        const wanted = isNew ? !this.#values.chance(5) : this.#values.chance(isEasy ? 2 : 3);
        if (!wanted || this.#fields >= MAX_FIELDS || this.#aliases > 80) continue;
        selections.push(this.#wrapped(type, this.#field(field, depth, scope)));
      }
    }
    if (isAbstractType(type)) {
      for (const possible of this.#schema.getPossibleTypes(type)) {
        if (this.#fields >= MAX_FIELDS || this.#values.chance(4)) continue;
        const inner = this.#selections(possible, depth, scope);
        // The possible types share the response names, so each name is selected in only one of them.
        if (inner.length > 0) selections.push(`... on ${possible.name} {\n${inner.join('\n')}\n}`);
      }
    }
    return selections;
  }

  /** Sometimes puts the selection into an inline or a named fragment. */
  #wrapped(type: GraphQLNamedType, selection: string): string {
    if (this.#values.chance(20))
      return `... ${this.#values.chance(2) ? `on ${type.name} ` : ''}${this.#directive()} { ${selection} }`;
    if (!this.#values.chance(12)) return selection;
    const name = `F${this.#fragments.length}`;
    this.#fragments.push(`fragment ${name} on ${type.name} {\n${selection}\n}`);
    return `...${name}${this.#directive()}`;
  }
}

function fieldsOf(type: {
  getFields(): Record<string, GraphQLField<unknown, unknown>>;
}): GraphQLField<unknown, unknown>[] {
  return Object.values(type.getFields());
}
