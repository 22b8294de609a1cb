/** What the properties of the documents of event definitions mean. */

export const OPTION_TEXTS = {
  label: 'What people see.',
  value: 'What occurrences store.',
  displayOrder: 'Position in lists, from 0.',
  hidden: 'Whether forms should leave the option out.',
  description: 'What the option means; empty where there is none.',
};

export const EVENT_PROPERTY_TEXTS = {
  name: 'Name within the definition.',
  label: 'What people see.',
  type: 'Type of the values.',
  fieldType: 'The form field that fits the type.',
  description: 'What the property means; empty where there is none.',
  groupName: 'Group of the property; always the same.',
  options: 'The allowed values of an enumeration; empty for every other type.',
  displayOrder: 'Position in lists, from 0.',
  isDefault: 'Whether every definition has the property. Default properties cannot be changed.',
  archived: 'Always false.',
  createdAt: 'When the property was created.',
  updatedAt: 'When the property last changed. `expectedUpdatedAt` is compared with it.',
};

export const EVENT_DEFINITION_TEXTS = {
  id: 'Id of the definition.',
  name: 'Name, which sent occurrences give. It never changes.',
  fullyQualifiedName: 'Name that is unique over all organizations.',
  objectTypeId: 'Id of the type of the occurrences.',
  labels: 'The label in the form of older clients.',
  label: 'What people see.',
  description: 'What the event means; empty where there is none.',
  primaryObject: 'The kind of record that an occurrence is linked to, or `NO_OBJECT`.',
  customMatchingId: 'How occurrences are linked to records by a property. Absent when they name the record themselves.',
  includeDefaultProperties: 'Whether the definition has the default properties.',
  trackingType: 'Always `MANUAL`: occurrences are sent.',
  archived: 'Always false.',
  associations: 'Always empty.',
  properties: 'The properties; empty in lists without `includeProperties=true`, null if they are larger than 4 MiB.',
  createdAt: 'When the definition was created.',
  updatedAt: 'When the definition or one of its properties last changed. `expectedUpdatedAt` is compared with it.',
};

export const LABELS_TEXTS = {
  singular: 'The label.',
  plural: 'Always null.',
};

export const MATCHING_TEXTS = {
  primaryObjectRule: 'The rule that links an occurrence to a record.',
};

export const RULE_TEXTS = {
  targetObjectPropertyName: 'Name of the property of the record.',
  eventPropertyName: 'Name of the property of the event with the same value.',
};

export const LIST_TEXTS = {
  results: 'The definitions of this page, by name.',
  total: 'Number of definitions that meet the search.',
  paging: 'Absent on the last page.',
};

export const NEXT_TEXTS = {
  after: 'Cursor for the parameter `after`.',
  link: 'Address of the next page.',
};
