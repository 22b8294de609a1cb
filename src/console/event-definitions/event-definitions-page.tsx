import { countOf } from '../parts/amounts.ts';
import { SmallBars } from '../parts/bar-plot.tsx';
import { occurrencesInWords } from './event-days.tsx';
import { UnknownEvents } from './event-violations.tsx';
import { Filters, InputField, useFilter, useSettled } from '../parts/filters.tsx';
import { usePages } from '../parts/hooks.ts';
import type { Answers } from '../generated/operation-types.ts';
import { Empty, List, PageFrame } from '../parts/parts.tsx';
import { FormButton } from '../parts/form-button.tsx';
import { objectOf } from './event-definition-page.tsx';
import { useScope } from '../parts/caller.ts';
import { CreateDefinition } from './event-definition-forms.tsx';

type Row = NonNullable<
  NonNullable<Answers['EventDefinitions']['viewer']['organization']>['eventDefinitions']
>['nodes'][number];

export function EventDefinitionsPage() {
  const mayCreate = useScope('BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE');
  const [search, setSearch] = useFilter('search');
  const variables = { first: 50, search: useSettled(search) || null };
  const list = usePages('EventDefinitions', variables, ({ viewer }) => viewer.organization?.eventDefinitions);
  const empty = search ? (
    <Empty>No event definition matches this filter.</Empty>
  ) : (
    <Empty
      command={`export GATEWAY=${location.origin} KEY=…   # your API key\nnpm run --silent cli -- plan apply tracking-plan.yaml`}
    >
      No event definitions yet. {mayCreate && <>Create the first one here, or </>}apply a tracking plan:
    </Empty>
  );
  return (
    <PageFrame
      title="Event definitions"
      intro="The custom events that this organization records."
      actions={
        mayCreate && <FormButton label="New event definition" isPlain={false} dialog={CreateDefinition} props={{}} />
      }
    >
      <Filters>
        <InputField label="Label or name" value={search} onChange={setSearch} />
      </Filters>
      <List
        label="Event definitions"
        list={list}
        row={rowOf}
        empty={empty}
        head={['Label', 'Name', 'Object', 'Last 30 days', 'Properties']}
        isDense
      />
      {mayCreate && <UnknownEvents />}
    </PageFrame>
  );
}

const rowOf = (definition: Row) => (
  <tr key={definition.id}>
    <td class="wide" title={definition.description ?? definition.label}>
      <div class="line">
        <a href={`/event-definitions/${encodeURIComponent(definition.name)}`}>{definition.label}</a>
        <span class="soft">{definition.description}</span>
      </div>
    </td>
    <td class="second minor" title={definition.name}>
      <code>{definition.name}</code>
    </td>
    <td class="minor">{objectOf(definition)}</td>
    <td class="second">
      <LastDays label={definition.label} days={definition.occurrencesPerDay} />
    </td>
    <td class="number">{definition.properties.filter(({ isDefault }) => !isDefault).length}</td>
  </tr>
);

function LastDays({ label, days }: { readonly label: string; readonly days: Row['occurrencesPerDay'] }) {
  const bars = (days ?? []).map((day) => ({
    words: occurrencesInWords(day),
    parts: [day.count, day.refusedCount ?? 0],
  }));
  const sum = (part: 0 | 1) => countOf(bars.reduce((total, { parts }) => total + (parts[part] ?? 0), 0));
  return (
    <SmallBars
      label={`${label}: occurrences by day`}
      bars={bars}
      summary={`${sum(0)} accepted, ${sum(1)} refused`}
      tones={['', 'bad']}
    />
  );
}
