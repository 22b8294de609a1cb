/** The types a property may have, section 2.2. A property keeps its type for life. */
export const PROPERTY_TYPES = ['bool', 'date', 'datetime', 'enumeration', 'number', 'string'] as const;

export type PropertyType = (typeof PROPERTY_TYPES)[number];

/** The field type stored for each property type, section 2.2. */
export const FIELD_TYPE_OF = {
  bool: 'radio',
  date: 'date',
  datetime: 'date',
  enumeration: 'select',
  number: 'number',
  string: 'text',
} as const satisfies Record<PropertyType, string>;

/** One choice of an enumeration: `value` is what occurrences carry, `label` what people read. */
export interface PropertyOption {
  readonly label: string;
  readonly value: string;
}
