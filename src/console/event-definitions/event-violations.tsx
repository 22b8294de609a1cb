import { Filters, InputField, momentOf, useFilter } from '../parts/filters.tsx';
import { ruleOf } from './event-property-forms.tsx';
import { usePages, useQuery } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { List, Table, wordsOf } from '../parts/parts.tsx';
import { Hour } from '../parts/time.tsx';

type Organization = NonNullable<Answers['EventViolations']['viewer']['organization']>;
type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
type Violation = NonNullable<Organization['eventViolations']>['nodes'][number];

/** The faults of the refused occurrences of an event, by hour. An occurrence can have several. */
export function EventViolations({ definition }: { readonly definition: Definition }) {
  const [day, setDay] = useFilter('refused');
  const [hourFrom, hourBefore] = [momentOf(day, { isUtc: true }), momentOf(day, { daysLater: 1, isUtc: true })];
  const filter = {
    eventDefinitionIds: [definition.id],
    ...(hourFrom !== undefined && { hourFrom }),
    ...(hourBefore !== undefined && { hourBefore }),
  };
  const list = usePages('EventViolations', { first: 20, filter }, ({ viewer }) => viewer.organization?.eventViolations);
  const rules = new Map(definition.properties.map((property) => [property.name, ruleOf(property)]));
  const row = ({ id, hour, reason, property, apiKey, count }: Violation) => (
    <tr key={id}>
      <td>
        <Hour at={hour} />
      </td>
      <td>{property === null ? <span class="soft">–</span> : <code>{property}</code>}</td>
      <td class="wide">
        {wordsOf(reason)} <span class="soft">{rules.get(property ?? '')}</span>
      </td>
      <td>{apiKey?.name ?? apiKey?.preview ?? <span class="soft">–</span>}</td>
      <td class="number">{count}</td>
    </tr>
  );
  return (
    <>
      {(day !== '' || list.rows.length > 0) && (
        <Filters label="Refused occurrences">
          <InputField label="Day in UTC" type="date" value={day} onChange={setDay} />
        </Filters>
      )}
      {list.rows.length > 1 && <p class="soft">In this list: {reasonsOf(list.rows)}.</p>}
      <List
        label="Refused occurrences"
        list={list}
        row={row}
        empty={<p class="soft">{day === '' ? 'None in the last 30 days.' : 'None on this day.'}</p>}
        head={['Hour', 'Property', 'Reason', 'API key', 'Faults']}
      />
    </>
  );
}

/** How often each property was refused, and why; the most frequent first. */
function reasonsOf(rows: readonly Violation[]): string {
  const counts = new Map<string, number>();
  for (const { property, reason, count } of rows) {
    const words = [property, wordsOf(reason).toLowerCase()].filter(Boolean).join(' ');
    counts.set(words, (counts.get(words) ?? 0) + Number(count));
  }
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([words, count]) => `${words} (${count})`).join(', ');
}

type UnknownEvent = NonNullable<
  NonNullable<Answers['UnknownEvents']['viewer']['organization']>['eventViolations']
>['nodes'][number];

/** The names that no event has, with which occurrences were sent; nothing if there are none. */
export function UnknownEvents() {
  const { data } = useQuery('UnknownEvents', {});
  const nodes = data?.viewer.organization?.eventViolations?.nodes ?? [];
  const row = ({ id, hour, unknownEventName, apiKey, count }: UnknownEvent) => (
    <tr key={id}>
      <td>
        <Hour at={hour} />
      </td>
      <td class="wide">
        {unknownEventName === null ? <span class="soft">further names</span> : <code>{unknownEventName}</code>}
      </td>
      <td>{apiKey?.name ?? apiKey?.preview ?? <span class="soft">–</span>}</td>
      <td class="number">{count}</td>
    </tr>
  );
  if (nodes.length === 0) return null;
  return (
    <>
      <h2>Refused names</h2>
      <p class="soft">
        Occurrences of the last 30 days with a name that no event has. Correct the name where they are sent, or create
        the event.
      </p>
      <Table label="Refused names" head={['Hour', 'Name', 'API key', 'Count']} rows={nodes} row={row} />
    </>
  );
}
