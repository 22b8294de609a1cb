import fc, { type GeneratorValue } from 'fast-check';
import { type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql';
import { HOSTILE_TEXT } from '../fixtures/hostile-text.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A value of an enum, which is written in a document without quotation marks. */
export class EnumValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  toJSON(): string {
    return this.name;
  }
}

/** Values for arguments and input fields, by name: ids of the caller's objects, of foreign objects, and of none. */
export type Pools = Readonly<Record<string, readonly string[]>>;

/** So many days from now. */
export function dayIn(days: number): string {
  return new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
}

/** Random values of input types. Nearly all are valid for the schema, so that they reach the operations. */
export class Values {
  readonly g: GeneratorValue;
  readonly pools: Pools;
  /** Most operations are plausible, because hostile ones are usually refused early. */
  readonly isTame: boolean;

  constructor(g: GeneratorValue, pools: Pools) {
    this.g = g;
    this.pools = pools;
    this.isTame = !this.chance(3);
  }

  /** True with a probability of one in `oneIn`. */
  chance(oneIn: number): boolean {
    return this.g(fc.nat, { max: oneIn - 1 }) === oneIn - 1;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.g(fc.nat, { max: items.length - 1 })] as Item;
  }

  of(type: GraphQLInputType, name: string, owner = ''): unknown {
    if (isNonNullType(type)) return this.of(type.ofType, name, owner) ?? {};
    if (isListType(type)) {
      const length = this.isTame ? 1 : this.chance(12) ? 101 : this.g(fc.integer, { min: 0, max: 3 });
      const item = this.of(type.ofType, name, owner);
      return Array.from({ length }, (_, index) =>
        length > 3 || index === 0 ? item : this.of(type.ofType, name, owner),
      );
    }
    if (isEnumType(type)) return new EnumValue(this.pick(type.getValues()).name);
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields());
      const chosen = type.isOneOf ? [this.pick(fields)] : fields;
      return Object.fromEntries(
        chosen.flatMap((field) => {
          const isRequired = type.isOneOf || isNonNullType(field.type);
          const isLikely = !this.isTame || this.pools[field.name] !== undefined;
          if (!isRequired && (isLikely ? this.chance(3) : !this.chance(5))) return [];
          const isNull = !isRequired && !this.isTame && this.chance(12);
          return [[field.name, isNull ? null : this.of(field.type, field.name, type.name)]];
        }),
      );
    }
    return this.scalar(type.name, name, owner);
  }

  scalar(type: string, name: string, owner: string): unknown {
    const named = type === 'Int' || type === 'Date' ? [] : (this.pools[`${owner}.${name}`] ?? this.pools[name] ?? []);
    const known = type === 'UUID' ? named.filter((value) => UUID.test(value)) : named;
    // The first values of a pool exist, the last ones do not.
    if (known.length > 0 && this.isTame) return this.pick(known.slice(0, Math.ceil(known.length / 2)));
    if (known.length > 0 && !this.chance(12)) return this.pick(known);
    switch (type) {
      case 'Int':
        if (this.isTame) return this.pick([1, 2, 3]);
        if (name === 'first' || name === 'last') return this.pick([1, 2, 3, 3, 2, 1, 0, -1, 101, 2 ** 31 - 1]);
        return this.pick([0, 1, 2, 50, 100, 101, -1, 2 ** 31 - 1, -(2 ** 31)]);
      case 'Float':
        return this.g(fc.double, { noNaN: true, noDefaultInfinity: true });
      case 'Boolean':
        return this.g(fc.boolean);
      case 'DateTime':
        if (this.isTame) return '2026-03-01T10:20:30.500Z';
        return this.pick([
          '2026-03-01T10:20:30.500Z',
          '2026-03-01T10:20:30+02:00',
          '0001-01-01T00:00:00Z',
          '9999-12-31T23:59:59.999Z',
          '2040-01-01T00:00:00Z',
        ]);
      case 'Date':
        // A period has the day on which the workspace was made.
        if (name === 'from' && this.isTame) return dayIn(-30);
        if ((name === 'until' || name === 'before') && this.isTame) return dayIn(1);
        if (this.isTame) return '2026-03-01';
        return this.pick(['2026-03-01', '2024-02-29', '0001-01-01', '9999-12-31']);
      case 'UUID':
        return this.pick(this.pools['uuid'] ?? []);
      case 'URL':
        return this.pick(this.pools['serverUrl'] ?? []);
      case 'BigInt':
        return String(this.g(fc.maxSafeInteger));
      case 'JSON':
        return this.json(name);
      case 'ID':
        return this.pick([...(this.pools['id'] ?? []), ...HOSTILE_TEXT]);
      default:
        if (this.isTame) return this.g(fc.stringMatching, /^[a-z]{3,12}$/);
        return this.chance(4) ? this.pick(HOSTILE_TEXT) : this.g(fc.string, { minLength: 1, maxLength: 12 });
    }
  }

  json(name: string): unknown {
    if (!this.isTame && this.chance(4)) return this.g(fc.jsonValue, { maxDepth: 2 });
    if (name === 'richContent')
      return {
        type: 'doc',
        content: [{ type: 'paragraph', content: [{ type: 'text', text: this.g(fc.string, { minLength: 1 }) }] }],
      };
    if (name === 'eventData')
      return { type: 'text', index: this.g(fc.nat), more: this.g(fc.jsonValue, { maxDepth: 1 }) };
    if (this.isTame) return { amount: 1 };
    return { [this.pick(['amount', 'day', 'plan', 'absent'])]: this.pick([1, '1', 'free', '2026-03-01', null, true]) };
  }
}

/** The value as a GraphQL literal; undefined if it has none, because literals must be well-formed text. */
export function literalOf(value: unknown): string | undefined {
  if (value instanceof EnumValue) return value.name;
  if (Array.isArray(value)) return join('[', value.map(literalOf), ']');
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (!entries.every(([name]) => /^[_A-Za-z]\w*$/.test(name))) return undefined;
    const fields = entries.map(([name, inner]) => {
      const text = literalOf(inner);
      return text === undefined ? undefined : `${name}: ${text}`;
    });
    return join('{', fields, '}');
  }
  if (typeof value === 'string' && !value.isWellFormed()) return undefined;
  return JSON.stringify(value);
}

function join(open: string, parts: readonly (string | undefined)[], close: string): string | undefined {
  return parts.includes(undefined) ? undefined : `${open}${parts.join(', ')}${close}`;
}
