import { run } from '../parts/api.ts';
import { SelectField, TextField } from '../parts/form-fields.tsx';
import { EMPTY_OPTION, type Option, OptionsField } from './event-options-field.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { finish } from '../parts/notices.tsx';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { wordsOf } from '../parts/parts.tsx';

type Property = NonNullable<Answers['EventDefinition']['eventDefinition']>['properties'][number];
type PropertyType = Property['type'];
type NewOptions = NonNullable<Variables['AddEventProperty']['input']['options']>;

const TYPES = [
  'STRING',
  'NUMBER',
  'BOOL',
  'DATE',
  'DATETIME',
  'ENUMERATION',
] as const satisfies readonly PropertyType[];
const NAMES: Readonly<Record<PropertyType, string>> = {
  STRING: 'Text',
  NUMBER: 'Number',
  BOOL: 'Yes or no',
  DATE: 'Date',
  DATETIME: 'Date and time',
  ENUMERATION: 'One of several options',
};
/** What occurrences may have, as the gateway checks it. */
const RULES: Readonly<Record<PropertyType, string>> = {
  STRING: 'At most 256 characters; 1,024 if the name contains url, referrer or link.',
  NUMBER: 'At most 15 digits, of which one is a decimal: 12.5, not 12.55.',
  BOOL: 'true or false.',
  DATE: 'A day such as 2026-03-31, or midnight UTC as an ISO 8601 time or as a UNIX timestamp in milliseconds.',
  DATETIME: 'An ISO 8601 time with Z or an offset, or a UNIX timestamp in milliseconds.',
  ENUMERATION: 'The value of an option, not its label.',
};
const MAX_VALUES = 10;

/** The rule for the values of a property, with the options that it has. */
export function ruleOf({ type, options }: Pick<Property, 'type' | 'options'>): string {
  if (options.length === 0) return RULES[type];
  const values = options.slice(0, MAX_VALUES).map(({ value }) => value);
  return `${RULES[type]} ${values.join(', ')}${options.length > MAX_VALUES ? ' …' : ''}`;
}

const TYPE_CHOICES = TYPES.map((type) => [type, `${NAMES[type]} (${wordsOf(type)})`] as const);

const FIRST_TYPE: PropertyType = 'STRING';

interface EventProps extends DialogProps {
  readonly eventName: string;
  /** Loads the definition again. */
  readonly onDone: () => void;
}

export function AddProperty({ eventName, onDone, onClose }: EventProps) {
  const form = useForm({
    boundsOf: 'AddEventProperty',
    initial: { label: '', name: '', type: FIRST_TYPE, description: '', options: [EMPTY_OPTION] },
    send: ({ label, name, type, description, options }, { idempotencyKey }) => {
      const rest = { name: name || null, description: description || null, options: optionsOf(type, options) };
      return run('AddEventProperty', { input: { eventName, label, type, ...rest } }, { idempotencyKey });
    },
    onDone: () => finish(`The property “${form.values.label}” was added.`, onClose, onDone),
  });
  return (
    <FormDialog title="Add a property" submit="Add" form={form} onClose={onClose}>
      <TextField name="label" label="Label" isRequired help="What people see." />
      <TextField
        name="name"
        label="Name"
        help="What programs send. Left empty, it is made from the label. It never changes."
      />
      <SelectField name="type" label="Type" choices={TYPE_CHOICES} help={RULES[form.values.type]} />
      {form.values.type === 'ENUMERATION' && <OptionsField />}
      <TextField name="description" label="Description" rows={2} />
    </FormDialog>
  );
}

/** What is sent: options belong to enumerations alone, and an option without a value has its label as the value. */
const optionsOf = (type: PropertyType, options: readonly Option[]): NewOptions | undefined =>
  type === 'ENUMERATION' ? options.map((option) => ({ ...option, value: option.value || option.label })) : undefined;

interface PropertyProps extends EventProps {
  readonly property: Property;
}

export function EditProperty({ eventName, property, onDone, onClose }: PropertyProps) {
  const { name, type, label, description, options, updatedAt } = property;
  const values = { label, description: description ?? '', options };
  const form = useForm({
    boundsOf: 'UpdateEventProperty',
    initial: values,
    current: { updatedAt, values },
    onConflict: onDone,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) => {
      const { options: given, ...texts } = changed;
      const input = { eventName, name, expectedUpdatedAt, ...texts, options: given && optionsOf(type, given) };
      return run('UpdateEventProperty', { input }, { idempotencyKey });
    },
    onDone: () => finish(`The property “${name}” was changed.`, onClose, onDone),
  });
  return (
    <FormDialog title={`Edit the property ${name}`} submit="Save" form={form} onClose={onClose}>
      <TextField name="label" label="Label" isRequired />
      {type === 'ENUMERATION' && <OptionsField />}
      <TextField name="description" label="Description" rows={3} />
    </FormDialog>
  );
}

export function ChangePropertyType({ eventName, property, onDone, onClose }: PropertyProps) {
  const { name, type: before, updatedAt } = property;
  const others = TYPE_CHOICES.filter(([type]) => type !== before);
  const values = { type: others[0]?.[0] ?? before, options: [EMPTY_OPTION] };
  const form = useForm({
    initial: values,
    current: { updatedAt, values },
    onConflict: onDone,
    send: ({ type, options }, { idempotencyKey, expectedUpdatedAt }) => {
      const input = { eventName, name, type, expectedUpdatedAt, options: optionsOf(type, options) };
      return run('ReplaceEventPropertyType', { input }, { idempotencyKey });
    },
    onDone: () => finish(`The property “${name}” has a new type.`, onClose, onDone),
  });
  return (
    <FormDialog title={`Change the type of ${name}`} submit="Change type" form={form} onClose={onClose}>
      <p>
        The property is deleted and created again, in one step. Past occurrences keep their values; new ones must have
        the new type.
      </p>
      <SelectField name="type" label={`Type, now ${NAMES[before]}`} choices={others} help={RULES[form.values.type]} />
      {form.values.type === 'ENUMERATION' && <OptionsField />}
    </FormDialog>
  );
}

export function DeleteProperty({ eventName, property: { name, label }, onDone, onClose }: PropertyProps) {
  const form = useForm({
    initial: {},
    send: (_, { idempotencyKey }) => run('DeleteEventProperty', { eventName, name }, { idempotencyKey }),
    onDone: () => finish(`The property “${name}” was deleted.`, onClose, onDone),
  });
  return (
    <FormDialog title="Delete the property" submit="Delete" isDanger form={form} onClose={onClose}>
      <p>
        Delete “{label}” (<code>{name}</code>)? Occurrences that contain it are refused from now on. Past occurrences
        keep their values, and the name can be used again.
      </p>
    </FormDialog>
  );
}
