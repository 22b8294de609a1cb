import type { VNode } from 'preact';
import { countOf, counted, shortCount } from './amounts.ts';
import { type Bar, BarPlot, Share, dayName } from './bar-plot.ts';
import { useQuery } from './hooks.ts';
import { html } from './html.ts';
import type { Answers } from './operation-types.ts';

/** The occurrences of an event as pictures: by day beside the refused ones, and by the values of an enumeration. */

type Definition = NonNullable<Answers['EventDefinition']['eventDefinition']>;
interface DefinitionProps {
  readonly definition: Definition;
}

export function EventDays({ definition }: DefinitionProps): VNode {
  const { data } = useQuery('EventRefusals', { definitionId: definition.id });
  const refusals = data?.viewer.organization?.eventViolations;
  const refusedOn = Map.groupBy(refusals?.nodes ?? [], ({ hour }) => hour.slice(0, 10));
  const refused = (day: string) => (refusedOn.get(day) ?? []).reduce((sum, { count }) => sum + Number(count), 0);
  const days = definition.occurrencesPerDay ?? [];
  const bars = days.map(({ day, count }): Bar => {
    const bad = refused(day);
    return {
      name: dayName(day),
      words: `${dayName(day)}: ${counted(count, 'occurrence')}, ${counted(bad, 'fault')} in refused ones`,
      parts: [count, bad],
      cells: [countOf(count), countOf(bad)],
    };
  });
  const sum = (of: (bar: Bar) => number) => countOf(bars.reduce((total, bar) => total + of(bar), 0));
  const isCut = refusals?.pageInfo.hasNextPage ?? false;
  const all = `${sum(({ parts }) => parts[0] ?? 0)} occurrences, ${sum(({ parts }) => parts[1] ?? 0)} faults in refused ones`;
  const enumeration = definition.properties.find(({ isDefault, type }) => !isDefault && type === 'ENUMERATION');
  return html`<h2>Occurrences by day</h2>
    <${BarPlot}
      label="Occurrences by day"
      bars=${bars}
      parts=${PARTS}
      format=${shortCount}
      summary=${isCut ? `${all} in the latest hours with refusals` : all}
      head=${['Day', 'Occurrences', 'Faults in refused ones']}
    />
    ${enumeration && html`<${EventValues} definition=${definition} property=${enumeration} />`}`;
}

const PARTS = [
  ['Accepted', ''],
  ['Faults in refused ones', 'bad'],
] as const;

/** More values would be more requests than a page should send. */
const MAX_VALUES = 8;

function EventValues({
  definition,
  property,
}: DefinitionProps & { readonly property: Definition['properties'][number] }): VNode {
  const { occurrencesPerDay, name } = definition;
  const from = `${occurrencesPerDay?.[0]?.day ?? '2000-01-01'}T00:00:00Z`;
  const options = property.options.filter(({ hidden }) => !hidden).slice(0, MAX_VALUES);
  const total = (occurrencesPerDay ?? []).reduce((sum, { count }) => sum + count, 0);
  const row = ({ value, label }: (typeof options)[number]) =>
    html`<${ValueRow}
      key=${value}
      label=${label}
      total=${total}
      variables=${{ name, from, property: property.name, value }}
    />`;
  return html`<h2>By ${property.label}</h2>
    <div class="table-frame" role="region" aria-label=${`By ${property.label}`} tabindex="0">
      <table class="values-table">
        <thead>
          <tr>
            <th scope="col">${property.label}</th>
            <th scope="col">Occurrences</th>
            <th scope="col">Of all</th>
          </tr>
        </thead>
        <tbody>
          ${options.map(row)}
        </tbody>
      </table>
    </div>`;
}

interface ValueProps {
  readonly label: string;
  readonly total: number;
  readonly variables: {
    readonly name: string;
    readonly from: string;
    readonly property: string;
    readonly value: string;
  };
}

function ValueRow({ label, total, variables }: ValueProps): VNode {
  const { data } = useQuery('EventValueCount', variables);
  const count = data?.eventDefinition?.occurrences.totalCount;
  const percent = total > 0 ? Math.round((100 * (count ?? 0)) / total) : 0;
  return html`<tr>
    <td data-column="Value"><bdi>${label}</bdi></td>
    <td class="number" data-column="Occurrences">${countOf(count)}</td>
    <td class="number" data-column="Of all">${percent} %<${Share} part=${count ?? 0} of=${total} /></td>
  </tr>`;
}
