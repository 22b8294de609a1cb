/** The types of properties (section 2.2). A property keeps its type. */
export const PROPERTY_TYPES = ['bool', 'date', 'datetime', 'enumeration', 'number', 'string'] as const;

export type PropertyType = (typeof PROPERTY_TYPES)[number];

/** The field type that is stored for each property type (section 2.2). */
export const FIELD_TYPE_OF = {
  bool: 'radio',
  date: 'date',
  datetime: 'date',
  enumeration: 'select',
  number: 'number',
  string: 'text',
} as const satisfies Record<PropertyType, string>;

/** One choice of an enumeration: occurrences carry its `value`, people read its `label`. */
export interface PropertyOption {
  readonly label: string;
  readonly value: string;
  /** Kept for clients that send them; without meaning for the gateway. */
  readonly displayOrder?: number | undefined;
  readonly hidden?: boolean | undefined;
  readonly description?: string | null | undefined;
}
