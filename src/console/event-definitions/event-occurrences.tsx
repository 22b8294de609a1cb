import { useAdministration } from '../parts/caller.ts';
import { UNMATCHED_WORDS } from './event-matching.tsx';
import { ChoiceField, Filters, InputField, momentOf, useFilter, useSettled } from '../parts/filters.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Empty, List, TimeCell } from '../parts/parts.tsx';
import { EraseObject } from './object-erasure-forms.tsx';

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Property = Definition['properties'][number];
type Occurrence = NonNullable<
  NonNullable<Answers['EventOccurrences']['eventDefinition']>['occurrences']
>['nodes'][number];

const HEAD = ['When', 'Object', 'Properties'];

/** The occurrences of a definition, latest first, by the value of a property if one is chosen. */
export function EventOccurrences({ definition }: { readonly definition: Definition }) {
  const { name, properties } = definition;
  const [property, setProperty] = useFilter('property');
  const [value, setValue] = useFilter('value');
  const [record, setRecord] = useFilter('record');
  const [from, setFrom] = useFilter('from');
  const [to, setTo] = useFilter('to');
  const wanted = useSettled(value);
  const mayErase = useAdministration();
  const occurredFrom = momentOf(from, { isUtc: true });
  const occurredBefore = momentOf(to, { daysLater: 1, isUtc: true });
  const filter = {
    ...(property && wanted && { properties: [{ name: property, value: wanted }] }),
    ...(isReason(record) && { unmatchedReasons: [record] }),
    ...(occurredFrom !== undefined && { occurredFrom }),
    ...(occurredBefore !== undefined && { occurredBefore }),
  };
  const variables = { name, first: 20, filter };
  const list = usePages('EventOccurrences', variables, ({ eventDefinition }) => eventDefinition?.occurrences);
  const isFiltered = Object.keys(filter).length > 0;
  const chosen = properties.find((each) => each.name === property);
  const choose = (next: string) => {
    setProperty(next);
    setValue('');
  };
  const nothing = filter.properties ? 'No occurrence has this value.' : 'No occurrence matches this filter.';
  const empty = isFiltered ? nothing : <NothingYet definition={definition} />;
  const row = ({ id, occurredAt, objectId, email, unmatchedReason, properties: values }: Occurrence) => (
    <tr key={id}>
      <TimeCell at={occurredAt} />
      <td class="wide">
        {objectId ?? email ?? <span class="soft">–</span>}
        {unmatchedReason && <div class="soft">{UNMATCHED_WORDS[unmatchedReason]}</div>}
      </td>
      <td class="wide">{valuesShown(values)}</td>
      {mayErase && <td class="end">{eraseButton(definition, objectId, email)}</td>}
    </tr>
  );
  const isOffered = isFiltered || property !== '' || record !== '' || list.rows.length > 0;
  return (
    <>
      {isOffered && (
        <Filters label="Occurrences">
          <ChoiceField label="Property" value={property} onChange={choose} choices={choicesOf(properties)} />
          {definition.customMatchingId && (
            <ChoiceField label="Record" value={record} onChange={setRecord} choices={RECORDS} />
          )}
          {property && <ValueField property={chosen} value={value} onChange={setValue} />}
          <InputField label="Days in UTC from" type="date" value={from} onChange={setFrom} />
          <InputField label="to" type="date" value={to} onChange={setTo} />
        </Filters>
      )}
      <List label="Latest occurrences" list={list} row={row} empty={empty} head={mayErase ? [...HEAD, ''] : HEAD} />
    </>
  );
}

function NothingYet({ definition }: { readonly definition: Definition }) {
  return <Empty command={commandToSend(definition)}>Nothing has been recorded for this event yet. Send one:</Empty>;
}

function eraseButton({ primaryObject, customObjectName }: Definition, objectId: string | null, email: string | null) {
  if (objectId === null && email === null) return null;
  const input = objectId === null ? { email } : { objectType: customObjectName ?? primaryObject, objectId };
  return <FormButton label="Erase…" dialog={EraseObject} props={{ input }} />;
}

const isReason = (value: string): value is keyof typeof UNMATCHED_WORDS => Object.hasOwn(UNMATCHED_WORDS, value);

const RECORDS = [['', 'Any'], ...Object.entries(UNMATCHED_WORDS)] as const;

/** Those of the definition itself first. */
const choicesOf = (properties: readonly Property[]) => {
  const sorted = properties.toSorted((a, b) => Number(a.isDefault) - Number(b.isDefault));
  return [['', 'Any'], ...sorted.map(({ name, label }) => [name, label] as const)] as const;
};

interface ValueProps {
  readonly property: Property | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A choice if the property has one, else a text. */
function ValueField({ property, ...field }: ValueProps) {
  const choices =
    property?.type === 'BOOL'
      ? (['true', 'false'] as const).map((each) => [each, each] as const)
      : property?.options.map((option) => [option.value, option.label] as const);
  if (choices && choices.length > 0)
    return <ChoiceField label="Value" {...field} choices={[['', 'Anything'], ...choices]} />;
  return <InputField label="Value" {...field} placeholder="exactly this value" />;
}

/** Names and values; a stored object whose values are texts, numbers or booleans. */
function valuesShown(values: unknown) {
  const entries = Object.entries(values ?? {});
  if (entries.length === 0) return <span class="soft">–</span>;
  return (
    <ul class="values">
      {entries.map(([name, value]) => (
        <li key={name}>
          <code class="soft">{name}</code> {String(value)}
        </li>
      ))}
    </ul>
  );
}

const SENT_OBJECTS: Readonly<Record<string, object>> = { CONTACT: { email: 'ann@example.com' }, NO_OBJECT: {} };

function commandToSend({ name, primaryObject }: Definition): string {
  const object = SENT_OBJECTS[primaryObject] ?? { objectId: '1' };
  const body = JSON.stringify({ eventName: name, ...object, properties: {} });
  return `curl ${location.origin}/events/2026-03/send -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' -d '${body}'`;
}
