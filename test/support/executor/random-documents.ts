import {
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
  parse,
  validate,
} from 'graphql';
import type { RandomChoices } from './picks.ts';

export interface RandomDocument {
  readonly document: DocumentNode;
  readonly isMutation: boolean;
  /** The type of each variable, by name. */
  readonly variables: ReadonlyMap<string, GraphQLInputType | 'Boolean!'>;
}

const ALIASES = ['then', 'constructor', 'null', 'class', 'a', 'b', '_', 'toString', 'length'];
const MAX_DEPTH = 4;
/** Literals for each input type. Enum values are names without quotation marks. */
const LITERALS: Readonly<Record<string, readonly string[]>> = {
  Int: ['1', '-7', 'null'],
  String: ['"text"', '""', 'null'],
  Boolean: ['true', 'false'],
  E: ['V0', 'V5', 'null'],
  Odd: ['1', '"x"', '[1 {a: 2}]', '{b: [3]}', 'null'],
  In: ['{}', '{number: 1, names: ["n"]}', '{inner: {text: "t"}, enumeration: V1, again: {number: null}}', 'null'],
};

/** A valid operation; undefined if the generated document is not valid. */
export function randomDocument(pick: RandomChoices, schema: GraphQLSchema): RandomDocument | undefined {
  const isMutation = pick.chance(0.15);
  const writer = new Writer(pick, schema);
  const root = isMutation ? schema.getMutationType() : schema.getQueryType();
  if (!root) return undefined;
  const body = writer.selectionsOf(root, 0);
  const definitions = [...writer.variables].map(
    ([name, type]) => `$${name}: ${String(type)}${writer.defaults.get(name) ?? ''}`,
  );
  const head = definitions.length > 0 ? `(${definitions.join(' ')})` : '';
  const text = `${isMutation ? 'mutation' : 'query'} Random${head} ${body} ${[...writer.fragments.values()].join(' ')}`;
  const document = parse(text);
  return validate(schema, document).length === 0 ? { document, isMutation, variables: writer.variables } : undefined;
}

class Writer {
  readonly variables = new Map<string, GraphQLInputType | 'Boolean!'>();
  readonly defaults = new Map<string, string>();
  readonly fragments = new Map<string, string>();
  readonly #pick: RandomChoices;
  readonly #schema: GraphQLSchema;

  constructor(pick: RandomChoices, schema: GraphQLSchema) {
    this.#pick = pick;
    this.#schema = schema;
  }

  selectionsOf(type: GraphQLCompositeType, depth: number): string {
    const count = this.#pick.number(1, depth === 0 ? 5 : 4);
    return `{ ${Array.from({ length: count }, () => this.#selection(type, depth)).join(' ')} }`;
  }

  #selection(type: GraphQLCompositeType, depth: number): string {
    const kind = this.#pick.number(0, 9);
    if (kind === 0) return `__typename${this.#condition()}`;
    if (kind === 1 && depth < MAX_DEPTH) return this.#inline(type, depth);
    if (kind === 2 && depth < MAX_DEPTH) return this.#spread(type, depth);
    if (kind === 3 && depth === 0 && this.#pick.chance(0.2)) return '__type(name: "T0") { name }';
    return this.#field(type, depth);
  }

  #field(type: GraphQLCompositeType, depth: number): string {
    const fields = isUnionType(type) ? [] : Object.values(type.getFields());
    if (fields.length === 0) return '__typename';
    const field = this.#pick.of(fields);
    const named = getNamedType(field.type);
    if (isCompositeType(named) && depth >= MAX_DEPTH) return '__typename';
    const alias = this.#pick.chance(0.5) ? `${this.#pick.of(ALIASES)}${this.#pick.number(0, 9)}: ` : '';
    const below = isCompositeType(named) ? ` ${this.selectionsOf(named, depth + 1)}` : '';
    return `${alias}${field.name}${this.#arguments(field.args)}${this.#condition()}${below}`;
  }

  #inline(type: GraphQLCompositeType, depth: number): string {
    const on = this.#pick.chance(0.3) ? type : this.#other(type);
    return `... ${this.#pick.chance(0.2) ? '' : `on ${on.name} `}${this.#condition()} ${this.selectionsOf(this.#pick.chance(0) ? type : on, depth + 1)}`;
  }

  #spread(type: GraphQLCompositeType, depth: number): string {
    const on = this.#other(type);
    const name = `F${on.name}${depth}`;
    if (!this.fragments.has(name)) {
      this.fragments.set(name, '');
      this.fragments.set(name, `fragment ${name} on ${on.name} ${this.selectionsOf(on, depth + 1)}`);
    }
    return `...${name}${this.#condition()}`;
  }

  /** A possible object type of this type, or one of its interfaces. */
  #other(type: GraphQLCompositeType): GraphQLCompositeType {
    const possible = isAbstractType(type) ? this.#schema.getPossibleTypes(type) : [type];
    const object = possible.length > 0 ? this.#pick.of(possible) : type;
    return this.#pick.chance(0.4) && isObjectType(object) && object.getInterfaces().length > 0
      ? this.#pick.of(object.getInterfaces())
      : object;
  }

  #arguments(args: readonly GraphQLArgument[]): string {
    const given = args.flatMap(({ name, type }) => {
      if (this.#pick.chance(0.4)) return [];
      return [`${name}: ${this.#pick.chance(0.5) ? this.#variable(type) : this.#literal(type)}`];
    });
    return given.length > 0 ? `(${given.join(' ')})` : '';
  }

  #variable(type: GraphQLInputType): string {
    const name = `v${String(type).replaceAll(/\W/g, '')}${this.#pick.number(0, 1)}`;
    if (!this.variables.has(name)) {
      this.variables.set(name, type);
      if (this.#pick.chance(0.3)) this.defaults.set(name, ` = ${this.#literal(type)}`);
    }
    return `$${name}`;
  }

  #literal(type: GraphQLInputType): string {
    if (isListType(getNullable(type))) return this.#pick.of(['[V1]', '[V0 V2]', '[]', 'V3']);
    const text = this.#pick.of(LITERALS[getNamedType(type).name] ?? ['null']);
    return text === 'null' && isNonNullType(type) ? 'true' : text;
  }

  #condition(): string {
    if (!this.#pick.chance(0.12)) return '';
    const directive = this.#pick.of(['skip', 'include']);
    if (this.#pick.chance(0.3)) return ` @${directive}(if: ${this.#pick.of(['true', 'false'])})`;
    const name = `c${this.#pick.number(0, 4)}`;
    this.variables.set(name, 'Boolean!');
    return ` @${directive}(if: $${name})`;
  }
}

const getNullable = (type: GraphQLInputType): GraphQLInputType => (isNonNullType(type) ? type.ofType : type);

/** Values for the variables, most of which fit their types. */
export function randomVariables(pick: RandomChoices, { variables }: RandomDocument): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, type] of variables) {
    if (type === 'Boolean!') values[name] = pick.chance(0.02) ? null : pick.chance(0.5);
    else if (!pick.chance(0.2)) values[name] = randomInput(pick, type);
  }
  return values;
}

function randomInput(pick: RandomChoices, type: GraphQLInputType): unknown {
  if (pick.chance(0.03))
    return pick.of([{}, [null], 'refused', 2 ** 40, { no: 1 }, { inner: { number: 1, text: 'x' } }]);
  if (isNonNullType(type)) return randomInput(pick, type.ofType);
  if (pick.chance(0.1)) return null;
  if (isListType(type)) return pick.chance(0.3) ? 'V1' : pick.chance(0.1) ? new Set(['V2']) : ['V0', 'V4'];
  if (isInputObjectType(type)) {
    if (type.isOneOf) return pick.of([{ number: 1 }, { text: 'x' }, { number: 1, text: undefined }]);
    const fields = Object.values(type.getFields()).filter(() => pick.chance(0.4));
    return Object.fromEntries(fields.map((field) => [field.name, randomInput(pick, field.type)]));
  }
  return { Int: 3, String: 'text', Boolean: true, E: 'V5', Odd: [{ deep: 1 }] }[type.name];
}
