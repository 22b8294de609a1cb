import type { VNode } from 'preact';
import { countOf } from './amounts.ts';
import { SmallBars } from './bar-plot.ts';
import { occurrencesInWords } from './event-days.ts';
import { UnknownEvents } from './event-violations.ts';
import { Filters, SearchField, useFilter, useSettled } from './filters.ts';
import { usePages } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';
import { Empty, List, PageFrame } from './parts.ts';
import { FormButton } from './form-button.ts';
import { objectOf } from './event-definition-page.ts';
import { useScope } from './caller.ts';

type Row = NonNullable<
  NonNullable<Answers['EventDefinitions']['viewer']['organization']>['eventDefinitions']
>['nodes'][number];

const CREATE = async () => (await import('./event-definition-forms.ts')).CreateDefinition;

export function EventDefinitionsPage(): VNode {
  const mayCreate = useScope('BEHAVIORAL_EVENTS_EVENT_DEFINITIONS_READ_WRITE');
  const [search, setSearch] = useFilter('search');
  const variables = { first: 50, search: useSettled(search) || null };
  const list = usePages('EventDefinitions', variables, ({ viewer }) => viewer.organization?.eventDefinitions);
  const row = (definition: Row) =>
    html`<tr key=${definition.id}>
      <td class="wide">
        <a href=${`/event-definitions/${encodeURIComponent(definition.name)}`}>${definition.label}</a>
        <div class="soft">${definition.description}</div>
      </td>
      <td><code>${definition.name}</code></td>
      <td>${objectOf(definition)}</td>
      <td><${LastDays} label=${definition.label} days=${definition.occurrencesPerDay} /></td>
      <td class="number">${definition.properties.filter(({ isDefault }) => !isDefault).length}</td>
    </tr>`;
  const empty = search
    ? html`<${Empty}>No event definition matches this filter.<//>`
    : html`<${Empty} command="npm run --silent cli -- plan apply tracking-plan.yaml"
        >No event definitions yet. ${mayCreate && html`Create the first one here, or `}apply a tracking plan:<//
      >`;
  return html`<${PageFrame}
    title="Event definitions"
    intro="The custom events that this organization records."
    actions=${mayCreate && html`<${FormButton} label="New event definition" isPlain=${false} load=${CREATE} props=${{}} />`}
  >
    <${Filters}><${SearchField} label="Label or name" value=${search} onChange=${setSearch} /><//>
    <${List}
      label="Event definitions"
      list=${list}
      row=${row}
      empty=${empty}
      head=${['Label', 'Name', 'Object', 'Last 30 days', 'Properties']}
    />
    ${mayCreate && html`<${UnknownEvents} />`}
  <//>`;
}

function LastDays({ label, days }: { readonly label: string; readonly days: Row['occurrencesPerDay'] }): VNode {
  const bars = (days ?? []).map((day) => ({
    words: occurrencesInWords(day),
    parts: [day.count, day.refusedCount ?? 0],
  }));
  const sum = (part: 0 | 1) => countOf(bars.reduce((total, { parts }) => total + (parts[part] ?? 0), 0));
  return html`<${SmallBars}
    label=${`${label}: occurrences by day`}
    bars=${bars}
    summary=${`${sum(0)} accepted, ${sum(1)} refused`}
    tones=${['', 'bad']}
  />`;
}
