import type { Order } from '../postgres/reading/keyset.ts';
import { OrderDirection, builder } from './builder.ts';
import { describedValues } from './enums.ts';

export interface OrderOptions<Field extends string> {
  /** Name of the sorted objects, in the plural. */
  readonly of: string;
  readonly fields: Readonly<Record<Field, string>>;
  /** The default order. */
  readonly otherwise: Order<NoInfer<Field>>;
}

/**
 * The argument `orderBy` of a list: `orderBy: SessionOrder = { field: CREATED_AT, direction: DESC }`, with an enumeration of the fields.
 * `null` also means the default.
 */
export function orderType<Field extends string>(name: string, { of, fields, otherwise }: OrderOptions<Field>) {
  const fieldType = builder.enumType(`${name}OrderField`, {
    description: `Fields by which ${of} can be sorted.`,
    values: describedValues(fields),
  });
  const type = builder.inputType(`${name}Order`, {
    description: `How to sort ${of}.`,
    fields: (t) => ({
      field: t.field({
        type: fieldType,
        required: true,
        // An enumeration value without a `value` is its name.
        defaultValue: otherwise.field as never,
        description: 'The field to sort by.',
      }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: otherwise.direction,
        description: 'The direction.',
      }),
    }),
  });
  return {
    argument: { type, defaultValue: otherwise as never, description: `The order; \`null\` means the default.` },
    orderOf: (given: object | null | undefined): Order<Field> =>
      (given as Order<Field> | null | undefined) ?? otherwise,
  };
}
