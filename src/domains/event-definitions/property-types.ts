/** The types of properties (Custom Event Definition API, section 2.2). The type of a property never changes. */
export const PROPERTY_TYPES = ['bool', 'date', 'datetime', 'enumeration', 'number', 'string'] as const;

export type PropertyType = (typeof PROPERTY_TYPES)[number];

/** The field type that is stored for each property type (Custom Event Definition API, section 2.2). */
export const FIELD_TYPE_OF = {
  bool: 'radio',
  date: 'date',
  datetime: 'date',
  enumeration: 'select',
  number: 'number',
  string: 'text',
} as const satisfies Record<PropertyType, string>;

/** One option of an enumeration. Occurrences contain its `value`; clients display its `label`. */
export interface PropertyOption {
  readonly label: string;
  readonly value: string;
  /** These fields are stored for clients. The gateway does not use them. */
  readonly displayOrder?: number | undefined;
  readonly hidden?: boolean | undefined;
  readonly description?: string | null | undefined;
}
