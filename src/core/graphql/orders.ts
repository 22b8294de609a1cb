import type { Order } from '../postgres/keyset.ts';
import { OrderDirection, builder } from './builder.ts';

export interface OrderOptions<Field extends string> {
  /** What is sorted, in the plural. */
  readonly of: string;
  readonly fields: Readonly<Record<Field, string>>;
  /** How it is sorted unless something else is asked for. */
  readonly otherwise: Order<Field>;
}

/**
 * The argument `orderBy` of a list: `orderBy: SessionOrder = { field: CREATED_AT, direction: DESC }`, with an enumeration of the fields.
 * `null` means the default, too.
 */
export function orderType<Field extends string>(name: string, { of, fields, otherwise }: OrderOptions<Field>) {
  const fieldType = builder.enumType(`${name}OrderField`, {
    description: `What ${of} can be sorted by.`,
    values: Object.fromEntries(
      Object.entries<string>(fields).map(([field, description]) => [field, { description }]),
    ) as Record<Field, { description: string }>,
  });
  const type = builder.inputType(`${name}Order`, {
    description: `How to sort ${of}.`,
    fields: (t) => ({
      field: t.field({
        type: fieldType,
        required: true,
        // The value of an enumeration without one is its name.
        defaultValue: otherwise.field as never,
        description: 'What to sort by.',
      }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: otherwise.direction,
        description: 'Which way.',
      }),
    }),
  });
  return {
    argument: { type, defaultValue: otherwise as never, description: `How to sort; \`null\` is the default.` },
    /** The order that is asked for. */
    orderOf: (given: object | null | undefined): Order<Field> =>
      (given as Order<Field> | null | undefined) ?? otherwise,
  };
}
