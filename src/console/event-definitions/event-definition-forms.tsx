import { run } from '../parts/api.ts';
import { useSettled } from '../parts/filters.tsx';
import { CheckField, SelectField, TextField, ConfirmField } from '../parts/form-fields.tsx';
import type { DialogProps } from '../parts/form-button.tsx';
import { FormDialog, useForm } from '../parts/form.tsx';
import { useQuery } from '../parts/hooks.ts';
import { goTo, goToList } from '../parts/navigation.ts';
import { confirmDone, finish } from '../parts/notices.tsx';
import type { Answers, Variables } from '../generated/operation-types.ts';
import { Counts, Faults, Loading, wordsOf } from '../parts/parts.tsx';

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type PrimaryObject = Definition['primaryObject'];

const OBJECTS = [
  'CONTACT',
  'COMPANY',
  'DEAL',
  'TICKET',
  'ORDER',
  'LEAD',
  'LISTING',
  'PROJECT',
  'SERVICE',
  'APPOINTMENT',
  'COURSE',
  'CUSTOM_OBJECT',
  'NO_OBJECT',
] as const satisfies readonly PrimaryObject[];

/** Where the two properties of the matching rule are in the input. */
const EVENT_PROPERTY = 'customMatchingId.primaryObjectRule.eventPropertyName';
const RECORD_PROPERTY = 'customMatchingId.primaryObjectRule.targetObjectPropertyName';
const DEFAULT_PREFIX = 'svc_';

const EMPTY = {
  label: '',
  name: '',
  description: '',
  primaryObject: 'CONTACT' as PrimaryObject,
  customObjectName: '',
  includeDefaultProperties: true,
  isMatched: false,
  [EVENT_PROPERTY]: '',
  [RECORD_PROPERTY]: '',
};
type Values = typeof EMPTY;

/** Default properties exist already; another property is created with the definition, as a text. */
function matchingOf({ isMatched, [EVENT_PROPERTY]: eventPropertyName, [RECORD_PROPERTY]: target }: Values) {
  if (!isMatched) return {};
  const isNew = eventPropertyName !== '' && !eventPropertyName.startsWith(DEFAULT_PREFIX);
  return {
    customMatchingId: { primaryObjectRule: { eventPropertyName, targetObjectPropertyName: target } },
    ...(isNew && {
      propertyDefinitions: [{ name: eventPropertyName, label: eventPropertyName, type: 'STRING' as const }],
    }),
  };
}

/** The form that creates an event definition. */
export function CreateDefinition({ onClose }: DialogProps) {
  const form = useForm({
    boundsOf: 'CreateEventDefinition',
    initial: EMPTY,
    send: (values, { idempotencyKey }) => {
      const { label, name, description, primaryObject, customObjectName, includeDefaultProperties } = values;
      const input: Variables['CreateEventDefinition']['input'] = {
        label,
        name: name || null,
        description: description || null,
        primaryObject,
        includeDefaultProperties,
        ...(primaryObject === 'CUSTOM_OBJECT' && { customObjectName }),
        ...(primaryObject !== 'NO_OBJECT' && matchingOf(values)),
      };
      return run('CreateEventDefinition', { input }, { idempotencyKey });
    },
    onDone: ({ eventDefinition }) => {
      onClose();
      confirmDone(`The event definition “${form.values.label}” was created. Now add its properties.`);
      if (eventDefinition) goTo(`/event-definitions/${encodeURIComponent(eventDefinition.name)}`);
    },
  });
  const { label, primaryObject, isMatched } = form.values;
  return (
    <FormDialog title="New event definition" submit="Create" form={form} onClose={onClose}>
      <TextField name="label" label="Label" isRequired help="What people see. It can be changed later." />
      <TextField name="name" label="Name" help={<NameHelp label={label} />} />
      <TextField name="description" label="Description" rows={3} help="What the event means, and when it is sent." />
      <SelectField
        name="primaryObject"
        label="Object"
        choices={OBJECTS.map((each) => [each, wordsOf(each)])}
        help="The kind of record that an occurrence belongs to. It cannot be changed later. Occurrences without an object are checked, and not stored."
      />
      {primaryObject === 'CUSTOM_OBJECT' && (
        <TextField
          name="customObjectName"
          label="Name of the custom object"
          isRequired
          help="A letter, then letters, digits or underscores."
        />
      )}
      <CheckField
        name="includeDefaultProperties"
        label="Include the default properties"
        help="Page, device, campaign and the like. This cannot be changed later."
      />
      {primaryObject !== 'NO_OBJECT' && (
        <CheckField
          name="isMatched"
          label="Find the record by a property of the event"
          help="Besides its id and e-mail address. This cannot be changed later."
        />
      )}
      {primaryObject !== 'NO_OBJECT' && isMatched && <MatchingFields />}
    </FormDialog>
  );
}

const MatchingFields = () => (
  <>
    <TextField
      name={EVENT_PROPERTY}
      label="Property of the event"
      isRequired
      help="The name of a default property, or of a new one, which is created with the definition as a text."
    />
    <TextField
      name={RECORD_PROPERTY}
      label="Property of the record"
      isRequired
      help="The name of the property of the record that has the same value. No two records have the same."
    />
  </>
);

/** The name that a definition without a given name gets. */
function NameHelp({ label }: { readonly label: string }) {
  const settled = useSettled(label);
  const preview = useQuery('EventDefinitionNamePreview', { label: settled }).data?.eventDefinitionNamePreview;
  const name = settled === '' ? undefined : preview?.isFree ? preview.name : preview?.nextFreeName;
  return (
    <>
      What programs send. It never changes, and no other definition can ever have it.{' '}
      {name && (
        <span>
          Left empty, it is <code>{name}</code>.
        </span>
      )}
    </>
  );
}

interface DefinitionProps extends DialogProps {
  readonly definition: Definition;
  readonly onDone: () => void;
}

export function EditDefinition({ definition, onDone, onClose }: DefinitionProps) {
  const { name: eventName, updatedAt } = definition;
  const values = { label: definition.label, description: definition.description ?? '' };
  const form = useForm({
    boundsOf: 'UpdateEventDefinition',
    initial: values,
    current: { updatedAt, values },
    onConflict: onDone,
    send: (_, { idempotencyKey, expectedUpdatedAt, changed }) =>
      run('UpdateEventDefinition', { input: { eventName, expectedUpdatedAt, ...changed } }, { idempotencyKey }),
    onDone: () => finish('The event definition was changed.', onClose, onDone),
  });
  return (
    <FormDialog title="Edit the event definition" submit="Save" form={form} onClose={onClose}>
      <TextField name="label" label="Label" isRequired />
      <TextField name="description" label="Description" rows={5} />
      <p class="soft">Name, object and default properties of a definition never change.</p>
    </FormDialog>
  );
}

export function DeleteDefinition({ definition: { name, label }, onClose }: DefinitionProps) {
  const { data, faults, isLoading } = useQuery('EventDefinitionDeletionPreview', { name });
  const preview = data?.eventDefinition?.deletionPreview;
  const form = useForm({
    initial: { typed: '' },
    send: (_, { idempotencyKey }) => run('DeleteEventDefinition', { name }, { idempotencyKey }),
    onDone: () => {
      onClose();
      confirmDone(`The event definition “${label}” was deleted.`);
      goToList('/event-definitions');
    },
  });
  return (
    <FormDialog
      title="Delete the event definition"
      submit="Delete permanently"
      isDanger
      isBlocked={form.values.typed !== name}
      form={form}
      onClose={onClose}
    >
      <p>
        Deleting “{label}” deletes all its occurrences and properties. This cannot be undone, and no event definition
        can have the name <code>{preview?.reservedName ?? name}</code> again.
      </p>
      {isLoading && <Loading />}
      <Faults faults={faults} />
      {preview && (
        <Counts
          counts={[
            ['Occurrences', preview.occurrenceCount],
            ['Properties', preview.customPropertyCount],
          ]}
        />
      )}
      <ConfirmField name="typed" text={name} />
    </FormDialog>
  );
}
